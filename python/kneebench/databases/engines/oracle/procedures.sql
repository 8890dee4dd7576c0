-- The five transactions of TPROC-C (TPC-C 2.4 to 2.8) in PL/SQL: one call, one round trip, one
-- transaction. READ COMMITTED, Oracle's own: what is read is not locked. Row locks are taken in one
-- order: new_order, orders, order_line < customer < district < warehouse, district < stock by
-- (s_w_id, s_i_id).
--
-- An order's lines come as one text, 14 digits a line: 6 for the item, 6 for the warehouse that
-- supplies it, 2 for the quantity; sorted by supplier and item. The items 1 to n count the lines.
-- All but kneebench_refuse also run on MariaDB with sql_mode = ORACLE, where they are tested.

-- The rollback by design; ORA-20001 (PL/SQL Language Reference, "User-Defined Exceptions").
CREATE OR REPLACE PROCEDURE kneebench_refuse AS
BEGIN
    RAISE_APPLICATION_ERROR(-20001, 'item number is not valid');
END;
/
-- The customer, or with c = 0 the middle one of a last name by first name (TPC-C 2.5.2.2).
CREATE OR REPLACE FUNCTION kneebench_customer(w INT, d INT, c INT, last_name VARCHAR2) RETURN INT AS
    found_id INT;
BEGIN
    IF c > 0 THEN
        RETURN c;
    END IF;
    SELECT c_id INTO found_id FROM (
        SELECT c_id, ROW_NUMBER() OVER (ORDER BY c_first, c_id) AS place, COUNT(*) OVER () AS there
        FROM customer WHERE c_w_id = w AND c_d_id = d AND c_last = last_name) named
    WHERE place = FLOOR((there + 1) / 2);
    RETURN found_id;
END;
/
-- 2.4: an order of n lines, of which `remote` have another supplier than w.
CREATE OR REPLACE PROCEDURE kneebench_new_order(w INT, d INT, c INT, n INT, remote INT,
    order_lines VARCHAR2) AS
    o INT;
    made INT;
    item_number INT;
    supplier INT;
    quantity INT;
    total NUMBER(12,2);
BEGIN
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d;
    SELECT d_next_o_id - 1 INTO o FROM district WHERE d_w_id = w AND d_id = d;
    INSERT INTO orders (o_entry_d, o_id, o_w_id, o_c_id, o_d_id, o_ol_cnt, o_all_local)
    VALUES (SYSDATE, o, w, c, d, n, CASE remote WHEN 0 THEN 1 ELSE 0 END);
    INSERT INTO new_order (no_w_id, no_o_id, no_d_id) VALUES (w, o, d);
    INSERT INTO order_line (ol_o_id, ol_w_id, ol_i_id, ol_supply_w_id, ol_d_id, ol_number,
        ol_quantity, ol_amount, ol_dist_info)
    SELECT o, w, s_i_id, s_w_id, d, line.i_id,
        CAST(SUBSTR(order_lines, 14 * line.i_id - 1, 2) AS INT),
        CAST(SUBSTR(order_lines, 14 * line.i_id - 1, 2) AS INT) * sold.i_price,
        CASE d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
            WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
            WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END
    FROM item line
    JOIN stock ON s_i_id = CAST(SUBSTR(order_lines, 14 * line.i_id - 13, 6) AS INT)
        AND s_w_id = CAST(SUBSTR(order_lines, 14 * line.i_id - 7, 6) AS INT)
    JOIN item sold ON sold.i_id = s_i_id
    WHERE line.i_id <= n;
    made := SQL%ROWCOUNT;
    IF made < n THEN
        kneebench_refuse();
    END IF;
    FOR place IN 1..n LOOP
        item_number := CAST(SUBSTR(order_lines, 14 * place - 13, 6) AS INT);
        supplier := CAST(SUBSTR(order_lines, 14 * place - 7, 6) AS INT);
        quantity := CAST(SUBSTR(order_lines, 14 * place - 1, 2) AS INT);
        UPDATE stock SET s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + CASE supplier WHEN w THEN 0 ELSE 1 END,
            s_quantity = s_quantity - quantity
                + CASE WHEN s_quantity < quantity + 10 THEN 91 ELSE 0 END
        WHERE s_i_id = item_number AND s_w_id = supplier;
    END LOOP;
    SELECT ROUND(SUM(ol_amount) * (1 - MAX(c_discount)) * (1 + MAX(w_tax) + MAX(d_tax)), 2)
    INTO total
    FROM order_line
    JOIN warehouse ON w_id = w
    JOIN district ON d_w_id = w AND d_id = d
    JOIN customer ON c_w_id = w AND c_d_id = d AND c_id = c
    WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
    COMMIT;
EXCEPTION
    WHEN OTHERS THEN
        ROLLBACK;
        RAISE;
END;
/
-- 2.5: a payment at (w, d) of a customer who may live elsewhere.
CREATE OR REPLACE PROCEDURE kneebench_payment(w INT, d INT, c_w INT, c_d INT, c INT,
    last_name VARCHAR2, amount_cents INT) AS
    payer INT;
    amount NUMBER(6,2);
BEGIN
    payer := kneebench_customer(c_w, c_d, c, last_name);
    amount := amount_cents / 100;
    UPDATE customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE c_credit WHEN 'BC' THEN SUBSTR(payer || ' ' || c_d || ' ' || c_w || ' ' || d
            || ' ' || w || ' ' || amount || '|' || c_data, 1, 500) ELSE c_data END
    WHERE c_w_id = c_w AND c_d_id = c_d AND c_id = payer;
    UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d;
    UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = w;
    INSERT INTO history (h_date, h_c_id, h_c_w_id, h_w_id, h_c_d_id, h_d_id, h_amount, h_data)
    SELECT SYSDATE, payer, c_w, w, c_d, d, amount, w_name || '    ' || d_name
    FROM warehouse JOIN district ON d_w_id = w_id WHERE w_id = w AND d_id = d;
    COMMIT;
EXCEPTION
    WHEN OTHERS THEN
        ROLLBACK;
        RAISE;
END;
/
-- 2.6: the lines of a customer's last order, read to the end.
CREATE OR REPLACE PROCEDURE kneebench_order_status(w INT, d INT, c INT, last_name VARCHAR2) AS
    buyer INT;
    balance NUMBER(12,2);
    o INT;
    total NUMBER(12,2);
BEGIN
    buyer := kneebench_customer(w, d, c, last_name);
    SELECT c_balance INTO balance FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = buyer;
    SELECT MAX(o_id) INTO o FROM orders WHERE o_w_id = w AND o_d_id = d AND o_c_id = buyer;
    FOR line IN (
        SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
        WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o) LOOP
        total := line.ol_amount;
    END LOOP;
    COMMIT;
EXCEPTION
    WHEN OTHERS THEN
        ROLLBACK;
        RAISE;
END;
/
-- 2.7: the oldest new order of each district. Another delivery may take it first: then the next.
CREATE OR REPLACE PROCEDURE kneebench_delivery(w INT, carrier INT) AS
    o INT;
    buyer INT;
    amount NUMBER(12,2);
    taken INT;
BEGIN
    FOR d IN 1..10 LOOP
        taken := 0;
        o := 0;
        WHILE taken = 0 AND o IS NOT NULL LOOP
            SELECT MIN(no_o_id) INTO o FROM new_order WHERE no_w_id = w AND no_d_id = d;
            DELETE FROM new_order WHERE no_w_id = w AND no_d_id = d AND no_o_id = o;
            taken := SQL%ROWCOUNT;
        END LOOP;
        IF taken > 0 THEN
            UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = w AND o_d_id = d AND o_id = o;
            SELECT o_c_id INTO buyer FROM orders WHERE o_w_id = w AND o_d_id = d AND o_id = o;
            UPDATE order_line SET ol_delivery_d = SYSDATE
            WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
            SELECT SUM(ol_amount) INTO amount FROM order_line
            WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
            UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = w AND c_d_id = d AND c_id = buyer;
        END IF;
    END LOOP;
    COMMIT;
EXCEPTION
    WHEN OTHERS THEN
        ROLLBACK;
        RAISE;
END;
/
-- 2.8: how many items of the district's last 20 orders are short in stock.
CREATE OR REPLACE PROCEDURE kneebench_stock_level(w INT, d INT, threshold INT) AS
    low INT;
BEGIN
    SELECT COUNT(DISTINCT s_i_id) INTO low FROM district
    JOIN order_line ON ol_w_id = w AND ol_d_id = d AND ol_o_id < d_next_o_id
        AND ol_o_id >= d_next_o_id - 20
    JOIN stock ON s_w_id = w AND s_i_id = ol_i_id
    WHERE d_w_id = w AND d_id = d AND s_quantity < threshold;
    COMMIT;
EXCEPTION
    WHEN OTHERS THEN
        ROLLBACK;
        RAISE;
END;
/
