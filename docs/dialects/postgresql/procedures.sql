-- The five transactions: one call each, committed by itself. An order's lines come as one text, 14
-- digits a line: 6 for the item, 6 for the warehouse that supplies it, 2 for the quantity; sorted
-- by supplier and item, so that stock is locked in one order. The items 1 to n count the lines.

-- TPC-C 2.4: an order; an item that does not exist rolls it back, by the SQLSTATE KB001.
CREATE FUNCTION kneebench_new_order(w int, d int, c int, n int, remote int, order_lines text)
RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    o int;
    made int;
    one record;
    total numeric;
BEGIN
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d
    RETURNING d_next_o_id - 1 INTO STRICT o;
    INSERT INTO orders VALUES (now(), o, w, c, d, NULL, n, CASE remote WHEN 0 THEN 1 ELSE 0 END);
    INSERT INTO new_order VALUES (w, o, d);
    INSERT INTO order_line
    SELECT NULL, o, w, s_i_id, s_w_id, d, line.i_id,
        substr(order_lines, 14 * line.i_id - 1, 2)::int,
        substr(order_lines, 14 * line.i_id - 1, 2)::int * item.i_price,
        CASE d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
            WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
            WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
    FROM item AS line
    JOIN stock ON s_i_id = substr(order_lines, 14 * line.i_id - 13, 6)::int
        AND s_w_id = substr(order_lines, 14 * line.i_id - 7, 6)::int
    JOIN item ON item.i_id = s_i_id
    WHERE line.i_id <= n;
    GET DIAGNOSTICS made = ROW_COUNT;
    IF made < n THEN
        RAISE EXCEPTION 'item number is not valid' USING ERRCODE = 'KB001';
    END IF;
    FOR one IN SELECT ol_i_id, ol_supply_w_id, ol_quantity FROM order_line
        WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o ORDER BY ol_number
    LOOP
        UPDATE stock SET s_ytd = s_ytd + one.ol_quantity, s_order_cnt = s_order_cnt + 1,
            s_quantity = s_quantity - one.ol_quantity
                + CASE WHEN s_quantity < one.ol_quantity + 10 THEN 91 ELSE 0 END,
            s_remote_cnt = s_remote_cnt + CASE one.ol_supply_w_id WHEN w THEN 0 ELSE 1 END
        WHERE s_i_id = one.ol_i_id AND s_w_id = one.ol_supply_w_id;
    END LOOP;
    SELECT sum(ol_amount) * (1 - max(c_discount)) * (1 + max(w_tax) + max(d_tax)) INTO total
    FROM order_line
    JOIN warehouse ON w_id = w
    JOIN district ON d_w_id = w AND d_id = d
    JOIN customer ON c_w_id = w AND c_d_id = d AND c_id = c
    WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
    RETURN total;
END $$
/
-- The customer, or with c = 0 the middle one of a last name by first name (TPC-C 2.5.2.2).
CREATE FUNCTION kneebench_customer(w int, d int, c int, name text) RETURNS int LANGUAGE sql AS $$
    SELECT CASE WHEN c > 0 THEN c ELSE (
        SELECT c_id FROM (
            SELECT c_id, row_number() OVER (ORDER BY c_first, c_id) AS number,
                count(*) OVER () AS there
            FROM customer WHERE c_w_id = w AND c_d_id = d AND c_last = name) AS named
        WHERE number = (there + 1) / 2) END
$$
/
-- 2.5: a payment at (w, d) of a customer who may live elsewhere.
CREATE FUNCTION kneebench_payment(w int, d int, c_w int, c_d int, c int, name text, cents int)
RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    payer int = kneebench_customer(c_w, c_d, c, name);
    amount numeric = cents / 100.0;
BEGIN
    UPDATE customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE c_credit WHEN 'BC' THEN left(
            concat_ws(' ', payer, c_d, c_w, d, w, amount) || '|' || c_data, 500) ELSE c_data END
    WHERE c_w_id = c_w AND c_d_id = c_d AND c_id = payer;
    UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d;
    UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = w;
    INSERT INTO history SELECT now(), payer, c_w, w, c_d, d, amount, w_name || '    ' || d_name
    FROM warehouse JOIN district ON d_w_id = w_id WHERE w_id = w AND d_id = d;
    RETURN payer;
END $$
/
-- 2.6: the lines of a customer's last order.
CREATE FUNCTION kneebench_order_status(w int, d int, c int, name text)
RETURNS TABLE (item int, supplier int, quantity int, amount numeric) LANGUAGE sql AS $$
    SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount FROM order_line
    WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = (
        SELECT max(o_id) FROM orders
        WHERE o_w_id = w AND o_d_id = d AND o_c_id = kneebench_customer(w, d, c, name))
$$
/
-- 2.7: the oldest new order of each district. Another delivery may take it first: then the next.
CREATE FUNCTION kneebench_delivery(w int, carrier int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    o int;
    buyer int;
    delivered int = 0;
BEGIN
    FOR d IN 1..10 LOOP
        LOOP
            SELECT min(no_o_id) INTO o FROM new_order WHERE no_w_id = w AND no_d_id = d;
            EXIT WHEN o IS NULL;
            DELETE FROM new_order WHERE no_w_id = w AND no_d_id = d AND no_o_id = o;
            EXIT WHEN FOUND;
        END LOOP;
        CONTINUE WHEN o IS NULL;
        UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = w AND o_d_id = d AND o_id = o
        RETURNING o_c_id INTO buyer;
        UPDATE order_line SET ol_delivery_d = now()
        WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
        UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1, c_balance = c_balance + (
            SELECT sum(ol_amount) FROM order_line
            WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o)
        WHERE c_w_id = w AND c_d_id = d AND c_id = buyer;
        delivered = delivered + 1;
    END LOOP;
    RETURN delivered;
END $$
/
-- 2.8: how many items of the district's last 20 orders are short in stock.
CREATE FUNCTION kneebench_stock_level(w int, d int, threshold int) RETURNS bigint LANGUAGE sql AS $$
    SELECT count(DISTINCT s_i_id) FROM district
    JOIN order_line ON ol_w_id = w AND ol_d_id = d AND ol_o_id < d_next_o_id
        AND ol_o_id >= d_next_o_id - 20
    JOIN stock ON s_w_id = w AND s_i_id = ol_i_id
    WHERE d_w_id = w AND d_id = d AND s_quantity < threshold
$$
/
