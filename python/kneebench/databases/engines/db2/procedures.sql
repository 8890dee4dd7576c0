-- The five transactions of TPROC-C (TPC-C 2.4 to 2.8) in SQL PL: one call, one round trip, one
-- transaction, which the driver commits. BEGIN ATOMIC: an error takes back what the call did. Row
-- locks are taken in one order: new_order, orders, order_line < customer < district < warehouse,
-- district < stock by (s_w_id, s_i_id).
--
-- An order's lines come as one text, 14 digits a line: 6 for the item, 6 for the warehouse that
-- supplies it, 2 for the quantity; sorted by supplier and item. They are taken one by one: static
-- SQL is planned without their number, and a join could be planned for a third of the stock.
-- All of it also runs on HSQLDB, where it is tested.

-- The customer, or with c = 0 the middle one of a last name by first name (TPC-C 2.5.2.2).
CREATE PROCEDURE kneebench_customer(IN w INTEGER, IN d INTEGER, IN c INTEGER,
    IN last_name VARCHAR(16), OUT found_id INTEGER)
LANGUAGE SQL READS SQL DATA
BEGIN ATOMIC
    DECLARE before_middle INTEGER;
    SET found_id = c;
    IF c = 0 THEN
        SELECT (COUNT(*) - 1) / 2 INTO before_middle FROM customer
        WHERE c_w_id = w AND c_d_id = d AND c_last = last_name;
        SELECT named.c_id INTO found_id FROM customer AS named
        WHERE named.c_w_id = w AND named.c_d_id = d AND named.c_last = last_name
            AND before_middle = (SELECT COUNT(*) FROM customer AS earlier
                WHERE earlier.c_w_id = w AND earlier.c_d_id = d AND earlier.c_last = last_name
                    AND (earlier.c_first < named.c_first
                        OR (earlier.c_first = named.c_first AND earlier.c_id < named.c_id)));
    END IF;
END
/
-- 2.4: an order of n lines, of which `remote` have another supplier than w. KB001 is the rollback
-- by design.
CREATE PROCEDURE kneebench_new_order(IN w INTEGER, IN d INTEGER, IN c INTEGER, IN n INTEGER,
    IN remote INTEGER, IN order_lines VARCHAR(210))
LANGUAGE SQL MODIFIES SQL DATA
BEGIN ATOMIC
    DECLARE o INTEGER;
    DECLARE price DECIMAL(5,2);
    DECLARE missing INTEGER DEFAULT 0;
    DECLARE place INTEGER DEFAULT 1;
    DECLARE item_number INTEGER;
    DECLARE supplier INTEGER;
    DECLARE quantity INTEGER;
    DECLARE total DECIMAL(12,2);
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d;
    SELECT d_next_o_id - 1 INTO o FROM district WHERE d_w_id = w AND d_id = d;
    INSERT INTO orders (o_entry_d, o_id, o_w_id, o_c_id, o_d_id, o_ol_cnt, o_all_local)
    VALUES (CURRENT_TIMESTAMP, o, w, c, d, n, CASE remote WHEN 0 THEN 1 ELSE 0 END);
    INSERT INTO new_order (no_w_id, no_o_id, no_d_id) VALUES (w, o, d);
    WHILE place <= n DO
        SET item_number = CAST(SUBSTR(order_lines, 14 * place - 13, 6) AS INTEGER);
        SET supplier = CAST(SUBSTR(order_lines, 14 * place - 7, 6) AS INTEGER);
        SET quantity = CAST(SUBSTR(order_lines, 14 * place - 1, 2) AS INTEGER);
        SELECT MIN(i_price) INTO price FROM item WHERE i_id = item_number;
        IF price IS NULL THEN
            SET missing = 1;
        ELSE
            INSERT INTO order_line (ol_o_id, ol_w_id, ol_i_id, ol_supply_w_id, ol_d_id, ol_number,
                ol_quantity, ol_amount, ol_dist_info)
            SELECT o, w, s_i_id, s_w_id, d, place, quantity, quantity * price,
                CASE d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                    WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                    WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
                    ELSE s_dist_10 END
            FROM stock WHERE s_i_id = item_number AND s_w_id = supplier;
            UPDATE stock SET s_ytd = s_ytd + quantity, s_order_cnt = s_order_cnt + 1,
                s_remote_cnt = s_remote_cnt + CASE WHEN supplier = w THEN 0 ELSE 1 END,
                s_quantity = s_quantity - quantity
                    + CASE WHEN s_quantity < quantity + 10 THEN 91 ELSE 0 END
            WHERE s_i_id = item_number AND s_w_id = supplier;
        END IF;
        SET place = place + 1;
    END WHILE;
    IF missing > 0 THEN
        SIGNAL SQLSTATE 'KB001' SET MESSAGE_TEXT = 'item number is not valid';
    END IF;
    SELECT SUM(ol_amount) * (1 - MAX(c_discount)) * (1 + MAX(w_tax) + MAX(d_tax)) INTO total
    FROM order_line
    JOIN warehouse ON w_id = w
    JOIN district ON d_w_id = w AND d_id = d
    JOIN customer ON c_w_id = w AND c_d_id = d AND c_id = c
    WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
END
/
-- 2.5: a payment at (w, d) of a customer who may live elsewhere.
CREATE PROCEDURE kneebench_payment(IN w INTEGER, IN d INTEGER, IN c_w INTEGER, IN c_d INTEGER,
    IN c INTEGER, IN last_name VARCHAR(16), IN amount_cents INTEGER)
LANGUAGE SQL MODIFIES SQL DATA
BEGIN ATOMIC
    DECLARE payer INTEGER;
    DECLARE amount DECIMAL(6,2);
    SET amount = amount_cents * 0.01;
    CALL kneebench_customer(c_w, c_d, c, last_name, payer);
    UPDATE customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE c_credit WHEN 'BC' THEN SUBSTRING(CAST(payer AS VARCHAR(11)) || ' '
            || CAST(c_d AS VARCHAR(11)) || ' ' || CAST(c_w AS VARCHAR(11)) || ' '
            || CAST(d AS VARCHAR(11)) || ' ' || CAST(w AS VARCHAR(11)) || ' '
            || CAST(amount AS VARCHAR(11)) || '|' || c_data FROM 1 FOR 500) ELSE c_data END
    WHERE c_w_id = c_w AND c_d_id = c_d AND c_id = payer;
    UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d;
    UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = w;
    INSERT INTO history (h_date, h_c_id, h_c_w_id, h_w_id, h_c_d_id, h_d_id, h_amount, h_data)
    SELECT CURRENT_TIMESTAMP, payer, c_w, w, c_d, d, amount, w_name || '    ' || d_name
    FROM warehouse JOIN district ON d_w_id = w_id WHERE w_id = w AND d_id = d;
END
/
-- 2.6: the lines of a customer's last order, read to the end.
CREATE PROCEDURE kneebench_order_status(IN w INTEGER, IN d INTEGER, IN c INTEGER,
    IN last_name VARCHAR(16))
LANGUAGE SQL READS SQL DATA
BEGIN ATOMIC
    DECLARE buyer INTEGER;
    DECLARE balance DECIMAL(12,2);
    DECLARE o INTEGER;
    DECLARE lines_read INTEGER;
    DECLARE amount DECIMAL(12,2);
    DECLARE delivered TIMESTAMP;
    CALL kneebench_customer(w, d, c, last_name, buyer);
    SELECT c_balance INTO balance FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = buyer;
    SELECT MAX(o_id) INTO o FROM orders WHERE o_w_id = w AND o_d_id = d AND o_c_id = buyer;
    SELECT COUNT(*), SUM(ol_amount), MAX(ol_delivery_d) INTO lines_read, amount, delivered
    FROM order_line WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
END
/
-- 2.7: the oldest new order of each district. Another delivery may take it first: then the next.
CREATE PROCEDURE kneebench_delivery(IN w INTEGER, IN carrier INTEGER)
LANGUAGE SQL MODIFIES SQL DATA
BEGIN ATOMIC
    DECLARE d INTEGER DEFAULT 1;
    DECLARE o INTEGER;
    DECLARE buyer INTEGER;
    DECLARE taken INTEGER;
    DECLARE amount DECIMAL(12,2);
    WHILE d <= 10 DO
        SET taken = 0;
        SET o = 0;
        WHILE taken = 0 AND o IS NOT NULL DO
            SELECT MIN(no_o_id) INTO o FROM new_order WHERE no_w_id = w AND no_d_id = d;
            IF o IS NOT NULL THEN
                DELETE FROM new_order WHERE no_w_id = w AND no_d_id = d AND no_o_id = o;
                GET DIAGNOSTICS taken = ROW_COUNT;
            END IF;
        END WHILE;
        IF o IS NOT NULL THEN
            UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = w AND o_d_id = d AND o_id = o;
            SELECT o_c_id INTO buyer FROM orders WHERE o_w_id = w AND o_d_id = d AND o_id = o;
            UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP
            WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
            SELECT SUM(ol_amount) INTO amount FROM order_line
            WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
            UPDATE customer SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = w AND c_d_id = d AND c_id = buyer;
        END IF;
        SET d = d + 1;
    END WHILE;
END
/
-- 2.8: how many items of the district's last 20 orders are short in stock.
CREATE PROCEDURE kneebench_stock_level(IN w INTEGER, IN d INTEGER, IN threshold INTEGER)
LANGUAGE SQL READS SQL DATA
BEGIN ATOMIC
    DECLARE low INTEGER;
    SELECT COUNT(DISTINCT s_i_id) INTO low FROM district
    JOIN order_line ON ol_w_id = w AND ol_d_id = d AND ol_o_id < d_next_o_id
        AND ol_o_id >= d_next_o_id - 20
    JOIN stock ON s_w_id = w AND s_i_id = ol_i_id
    WHERE d_w_id = w AND d_id = d AND s_quantity < threshold;
END
/
