-- The five transactions of TPROC-C (TPC-C 2.4 to 2.8) as functions: one call, one round trip, one
-- transaction.
--
-- READ COMMITTED. Every function takes its row locks in one order, so that no two of them can wait
-- for each other:
--   new_order (table), orders, order_line  <  customer  <  district  <  warehouse, and district <
--     stock by (s_i_id, s_w_id).
-- The warehouse comes last in payment, because it is the row that most transactions want and a lock
-- is held until the commit is on the log. Each function is one or two statements: what a statement
-- costs to start is a third of a short transaction (docs/decisions/functions.md). Smallint columns
-- are compared with integers as they are: the index takes both.

CREATE SCHEMA IF NOT EXISTS kneebench;

-- 2.4: an order of cardinality(items) lines; its total. With an item that does not exist (KB001)
-- everything else is written first and then rolled back by the error.
CREATE OR REPLACE FUNCTION kneebench.new_order(w int4, d int4, c int4, items int4[],
    suppliers int4[], quantities int4[])
RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    o int4;
    factor numeric;
    made int4;
    total numeric;
BEGIN
    UPDATE public.district SET d_next_o_id = d_next_o_id + 1
    FROM public.warehouse, public.customer
    WHERE d_w_id = w AND d_id = d AND w_id = w AND c_w_id = w AND c_d_id = d AND c_id = c
    RETURNING d_next_o_id - 1, (1 - c_discount) * (1 + w_tax + d_tax) INTO o, factor;

    WITH head AS (
        INSERT INTO public.orders (o_entry_d, o_id, o_w_id, o_c_id, o_d_id, o_ol_cnt, o_all_local)
        VALUES (now(), o, w, c, d, cardinality(items),
            CASE WHEN w = ALL (suppliers) THEN 1 ELSE 0 END)
    ), queued AS (
        INSERT INTO public.new_order (no_w_id, no_o_id, no_d_id) VALUES (w, o, d)
    ), supplied AS (
        UPDATE public.stock
        SET s_quantity = s_quantity - quantity
            + CASE WHEN s_quantity < quantity + 10 THEN 91 ELSE 0 END,
            s_ytd = s_ytd + quantity,
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN supplier = w THEN 0 ELSE 1 END
        FROM (SELECT item, suppliers[n] AS supplier, quantities[n] AS quantity, n
              FROM unnest(items) WITH ORDINALITY AS u (item, n)
              ORDER BY item, suppliers[n]) AS line
        JOIN public.item ON i_id = item
        WHERE s_i_id = item AND s_w_id = supplier
        RETURNING n, item, supplier, quantity, quantity * i_price AS amount,
            CASE d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                   WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                   WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
                   ELSE s_dist_10 END AS info
    ), lines AS (
        INSERT INTO public.order_line
            (ol_o_id, ol_w_id, ol_i_id, ol_supply_w_id, ol_d_id, ol_number, ol_quantity, ol_amount,
                ol_dist_info)
        SELECT o, w, item, supplier, d, n, quantity, amount, info FROM supplied
    )
    SELECT count(*), sum(amount) FROM supplied INTO made, total;

    IF made < cardinality(items) THEN
        total := total + kneebench.lines_left(o, w, d, items, suppliers, quantities);
    END IF;
    RETURN total * factor;
END $$;

-- The rollback by design. A function of its own, so that a log level can be set for it alone
-- (schema.py: quiet_rollbacks).
CREATE OR REPLACE FUNCTION kneebench.no_such_item() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'item number is not valid' USING ERRCODE = 'KB001';
END $$;

-- The lines of an order that one UPDATE could not make, because the order names an item of a
-- supplier twice (an UPDATE meets a row once); their amount. KB001 when there is an item that does
-- not exist.
CREATE OR REPLACE FUNCTION kneebench.lines_left(o int4, w int4, d int4, items int4[],
    suppliers int4[], quantities int4[])
RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    line record;
    made record;
    total numeric := 0;
BEGIN
    IF EXISTS (SELECT FROM unnest(items) AS u (item)
               WHERE NOT EXISTS (SELECT FROM public.item WHERE i_id = item)) THEN
        PERFORM kneebench.no_such_item();
    END IF;
    FOR line IN
        SELECT item, supplier, quantity, n
        FROM unnest(items, suppliers, quantities)
            WITH ORDINALITY AS u (item, supplier, quantity, n)
        WHERE NOT EXISTS (SELECT FROM public.order_line WHERE ol_w_id = w AND ol_d_id = d
            AND ol_o_id = o AND ol_number = n)
        ORDER BY item, supplier
    LOOP
        UPDATE public.stock
        SET s_quantity = s_quantity - line.quantity
            + CASE WHEN s_quantity < line.quantity + 10 THEN 91 ELSE 0 END,
            s_ytd = s_ytd + line.quantity,
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE WHEN line.supplier = w THEN 0 ELSE 1 END
        FROM public.item
        WHERE i_id = line.item AND s_i_id = line.item AND s_w_id = line.supplier
        RETURNING line.quantity * i_price AS amount,
            (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07,
                s_dist_08, s_dist_09, s_dist_10])[d] AS info
        INTO STRICT made;
        INSERT INTO public.order_line
            (ol_o_id, ol_w_id, ol_i_id, ol_supply_w_id, ol_d_id, ol_number, ol_quantity, ol_amount,
                ol_dist_info)
        VALUES (o, w, line.item, line.supplier, d, line.n, line.quantity, made.amount, made.info);
        total := total + made.amount;
    END LOOP;
    RETURN total;
END $$;

-- 2.5: a payment of the customer (c_w, c_d, c), or with c = 0 of the middle one of that last name
-- by first name (2.5.2.2: number n/2 rounded up), at (w, d); the customer's number.
CREATE OR REPLACE FUNCTION kneebench.payment(w int4, d int4, c_w int4, c_d int4, c int4,
    c_last text, amount_cents int4)
RETURNS int4 LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    payer int4 := c;
    amount numeric := amount_cents * 0.01;
BEGIN
    IF payer = 0 THEN
        SELECT (array_agg(c_id))[(count(*) + 1) / 2] FROM (
            SELECT c_id FROM public.customer
            WHERE c_w_id = c_w AND c_d_id = c_d AND customer.c_last = payment.c_last
                ORDER BY c_first, c_id) AS named
        INTO payer;
    END IF;

    WITH paid AS (
        UPDATE public.customer
        SET c_balance = c_balance - amount,
            c_ytd_payment = c_ytd_payment + amount,
            c_payment_cnt = c_payment_cnt + 1,
            c_data = CASE WHEN c_credit = 'BC'
                THEN left(concat_ws(' ', payer, c_d, c_w, d, w, amount) || '|' || c_data, 500)
                    ELSE c_data END
        WHERE c_w_id = c_w AND c_d_id = c_d AND c_id = payer
        RETURNING c_id
    ), in_district AS (
        UPDATE public.district SET d_ytd = d_ytd + amount FROM paid WHERE d_w_id = w
            AND d_id = d RETURNING d_name
    ), in_warehouse AS (
        UPDATE public.warehouse SET w_ytd = w_ytd + amount FROM in_district
            WHERE w_id = w RETURNING w_name, d_name
    )
    INSERT INTO public.history (h_date, h_c_id, h_c_w_id, h_w_id, h_c_d_id, h_d_id, h_amount,
        h_data)
    SELECT now(), payer, c_w, w, c_d, d, amount, w_name || '    ' || d_name FROM in_warehouse;
    RETURN payer;
END $$;

-- 2.6: the lines of a customer's last order, each with the order's head and the customer. One
-- STABLE SELECT, so that the planner puts it into the calling statement: SELECT * FROM
-- kneebench.order_status(...).
CREATE OR REPLACE FUNCTION kneebench.order_status(w int4, d int4, c int4, c_last text)
RETURNS TABLE (customer int4, first varchar, middle bpchar, last varchar, balance numeric,
    o_id int4, entry_d timestamptz,
    carrier int2, item int4, supplier int4, quantity int2, amount numeric, delivery_d timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT c_id, c_first, c_middle, customer.c_last, c_balance, latest.o_id, o_entry_d,
        o_carrier_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
    FROM public.customer
    CROSS JOIN LATERAL (
        SELECT orders.o_id, o_entry_d, o_carrier_id FROM public.orders
        WHERE o_w_id = order_status.w AND o_d_id = order_status.d AND o_c_id = c_id
            ORDER BY orders.o_id DESC LIMIT 1) AS latest
    JOIN public.order_line ON ol_w_id = order_status.w AND ol_d_id = order_status.d
        AND ol_o_id = latest.o_id
    WHERE c_w_id = order_status.w AND c_d_id = order_status.d
        AND c_id = CASE WHEN order_status.c > 0 THEN order_status.c ELSE (
        SELECT (array_agg(named.c_id))[(count(*) + 1) / 2] FROM (
            SELECT x.c_id FROM public.customer AS x
            WHERE x.c_w_id = order_status.w AND x.c_d_id = order_status.d
                AND x.c_last = order_status.c_last
            ORDER BY x.c_first, x.c_id) AS named) END
$$;

-- 2.7: the oldest undelivered order of each of the ten districts; how many there were. Deliveries
-- of one warehouse wait for each other, and the second looks only after the first has committed:
-- else a crash between them could leave a gap (condition 3).
CREATE OR REPLACE FUNCTION kneebench.delivery(w int4, carrier int4)
RETURNS int4 LANGUAGE plpgsql AS $$
DECLARE
    delivered int4;
BEGIN
    PERFORM pg_advisory_xact_lock(1263420994, w);
    WITH oldest AS (
        SELECT district AS d, undelivered.place FROM generate_series(1, 10) AS district
        CROSS JOIN LATERAL (
            SELECT ctid AS place FROM public.new_order WHERE no_w_id = w
                AND no_d_id = district ORDER BY no_o_id LIMIT 1) AS undelivered
    ), taken AS (
        DELETE FROM public.new_order USING oldest
            WHERE new_order.ctid = oldest.place RETURNING oldest.d, no_o_id AS o
    ), sent AS (
        UPDATE public.orders SET o_carrier_id = carrier FROM taken WHERE o_w_id = w
            AND o_d_id = taken.d AND o_id = taken.o
        RETURNING taken.d, taken.o, o_c_id
    ), lines AS (
        UPDATE public.order_line SET ol_delivery_d = now() FROM sent WHERE ol_w_id = w
            AND ol_d_id = sent.d AND ol_o_id = sent.o
        RETURNING sent.d, sent.o_c_id, ol_amount
    )
    UPDATE public.customer SET c_balance = c_balance + owed.amount,
        c_delivery_cnt = c_delivery_cnt + 1
    FROM (SELECT d, o_c_id, coalesce(sum(ol_amount), 0) AS amount FROM lines
        GROUP BY d, o_c_id) AS owed
    WHERE c_w_id = w AND c_d_id = owed.d AND c_id = owed.o_c_id;
    GET DIAGNOSTICS delivered = ROW_COUNT;
    RETURN delivered;
END $$;

-- 2.8: how many items of the district's last 20 orders are short in stock.
CREATE OR REPLACE FUNCTION kneebench.stock_level(w int4, d int4, threshold int4)
RETURNS int4 LANGUAGE plpgsql STABLE AS $$
DECLARE
    short int4;
BEGIN
    SELECT count(DISTINCT ol_i_id)
    FROM public.district
    JOIN public.order_line ON ol_w_id = w AND ol_d_id = d AND ol_o_id < d_next_o_id
        AND ol_o_id >= d_next_o_id - 20
    JOIN public.stock ON s_i_id = ol_i_id AND s_w_id = w
    WHERE d_w_id = w AND d_id = d AND s_quantity < threshold INTO short;
    RETURN short;
END $$;
