-- The five transactions of TPROC-C (TPC-C 2.4 to 2.8) as stored procedures of MariaDB and MySQL:
-- one call, one round trip, one transaction. Statements end with //, as the command-line client
-- reads them. JSON_TABLE requires MariaDB 10.6 or MySQL 8.0.4; not tried on MySQL 8.
--
-- READ COMMITTED, set by the session: a plain SELECT, also that of an INSERT, reads without locks,
-- and rows are locked without the gaps between them. Every procedure takes its row locks in one
-- order, so that no two of them can wait for each other:
--   new_order, orders, order_line  <  customer  <  district  <  warehouse, and district < stock by
--   (s_w_id, s_i_id).
-- The warehouse comes last in payment, because it is the row that most transactions want and a lock
-- is held until the commit is on the log. Few statements: starting one costs more than a row
-- (docs/decisions/mariadb-procedures.md). LAST_INSERT_ID(expression) is how both servers return a
-- value from the row that is changed (MySQL's reference manual, "Information Functions").
--
-- Any error rolls back and reaches the caller. KB001 is the rollback by design.

SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'//

DROP PROCEDURE IF EXISTS kneebench_new_order//
-- 2.4: an order of n lines, of which `remote` have a supplier other than w; its total.
-- `order_lines` is an array of [item, supplier, quantity], sorted by the caller by supplier and
-- item: stock is locked in the order of the array. With an item that does not exist everything
-- else is written first and then rolled back by the error.
CREATE PROCEDURE kneebench_new_order(w int, d int, c int, n int, remote int,
    order_lines text CHARACTER SET ascii)
SQL SECURITY INVOKER
BEGIN
    DECLARE o int;
    DECLARE made int;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    UPDATE district SET d_next_o_id = LAST_INSERT_ID(d_next_o_id) + 1
    WHERE d_w_id = w AND d_id = d;
    IF ROW_COUNT() = 0 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the district does not exist';
    END IF;
    SET o = LAST_INSERT_ID();
    INSERT INTO orders (o_entry_d, o_id, o_w_id, o_c_id, o_d_id, o_ol_cnt, o_all_local)
    VALUES (utc_timestamp(), o, w, c, d, n, remote = 0);
    INSERT INTO new_order (no_w_id, no_o_id, no_d_id) VALUES (w, o, d);

    INSERT INTO order_line (ol_o_id, ol_w_id, ol_i_id, ol_supply_w_id, ol_d_id, ol_number,
        ol_quantity, ol_amount, ol_dist_info)
    SELECT o, w, item, supplier, d, number, quantity, quantity * i_price,
        CASE d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
               WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
               WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
               ELSE s_dist_10 END
    FROM JSON_TABLE(order_lines, '$[*]' COLUMNS (number FOR ORDINALITY, item int PATH '$[0]',
        supplier int PATH '$[1]', quantity int PATH '$[2]')) AS line
    STRAIGHT_JOIN stock ON s_w_id = supplier AND s_i_id = item
    STRAIGHT_JOIN item ON i_id = item;
    SET made = ROW_COUNT();
    UPDATE order_line STRAIGHT_JOIN stock ON s_w_id = ol_supply_w_id AND s_i_id = ol_i_id
    SET s_quantity = s_quantity - ol_quantity + IF(s_quantity < ol_quantity + 10, 91, 0),
        s_ytd = s_ytd + ol_quantity,
        s_order_cnt = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + IF(ol_supply_w_id = w, 0, 1)
    WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
    IF ROW_COUNT() < n THEN
        IF made < n THEN
            SIGNAL SQLSTATE 'KB001' SET MYSQL_ERRNO = 45001,
                MESSAGE_TEXT = 'item number is not valid';
        END IF;
        CALL kneebench_repeated_lines(w, d, o);
    END IF;

    SELECT sum(ol_amount) * (1 - c_discount) * (1 + w_tax + d_tax) AS total
    FROM warehouse STRAIGHT_JOIN district STRAIGHT_JOIN customer STRAIGHT_JOIN order_line
    WHERE w_id = w AND d_w_id = w AND d_id = d AND c_w_id = w AND c_d_id = d AND c_id = c
        AND ol_w_id = w AND ol_d_id = d AND ol_o_id = o;
    COMMIT;
END//

DROP PROCEDURE IF EXISTS kneebench_repeated_lines//
-- The stock of the lines that repeat an earlier one of the same item and supplier: an UPDATE of two
-- tables changes a row once, by the first line that meets it. The rows are locked already.
CREATE PROCEDURE kneebench_repeated_lines(w int, d int, o int)
SQL SECURITY INVOKER
BEGIN
    DECLARE item int;
    DECLARE supplier int;
    DECLARE quantity int;
    DECLARE ended boolean DEFAULT false;
    DECLARE repeated CURSOR FOR
        SELECT line.ol_i_id, line.ol_supply_w_id, line.ol_quantity FROM order_line AS line
        WHERE line.ol_w_id = w AND line.ol_d_id = d AND line.ol_o_id = o AND EXISTS (
            SELECT 1 FROM order_line AS earlier
            WHERE earlier.ol_w_id = w AND earlier.ol_d_id = d AND earlier.ol_o_id = o
                AND earlier.ol_number < line.ol_number AND earlier.ol_i_id = line.ol_i_id
                AND earlier.ol_supply_w_id = line.ol_supply_w_id);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET ended = true;

    OPEN repeated;
    FETCH repeated INTO item, supplier, quantity;
    WHILE NOT ended DO
        UPDATE stock
        SET s_quantity = s_quantity - quantity + IF(s_quantity < quantity + 10, 91, 0),
            s_ytd = s_ytd + quantity,
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + IF(supplier = w, 0, 1)
        WHERE s_w_id = supplier AND s_i_id = item;
        FETCH repeated INTO item, supplier, quantity;
    END WHILE;
    CLOSE repeated;
END//

DROP PROCEDURE IF EXISTS kneebench_payment//
-- 2.5: a payment of the customer (c_w, c_d, c), or with c = 0 of the middle one of that last name
-- by first name (2.5.2.2: number n/2 rounded up), at (w, d); the customer's number.
CREATE PROCEDURE kneebench_payment(w int, d int, c_w int, c_d int, c int,
    last_name varchar(16) CHARACTER SET ascii COLLATE ascii_bin, amount_cents int)
SQL SECURITY INVOKER
BEGIN
    DECLARE payer int DEFAULT c;
    DECLARE before_middle int;
    DECLARE amount decimal(6,2) DEFAULT amount_cents / 100;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    IF payer = 0 THEN
        SELECT (count(*) - 1) DIV 2 INTO before_middle FROM customer
        WHERE c_w_id = c_w AND c_d_id = c_d AND c_last = last_name;
        SELECT c_id INTO payer FROM customer
        WHERE c_w_id = c_w AND c_d_id = c_d AND c_last = last_name
        ORDER BY c_first, c_id LIMIT before_middle, 1;
    END IF;
    UPDATE customer
    SET c_balance = c_balance - amount,
        c_ytd_payment = c_ytd_payment + amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = IF(c_credit = 'BC',
            LEFT(CONCAT(CONCAT_WS(' ', payer, c_d, c_w, d, w, amount), '|', c_data), 500), c_data)
    WHERE c_w_id = c_w AND c_d_id = c_d AND c_id = payer;
    IF ROW_COUNT() > 0 THEN
        UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d;
        UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = w;
        INSERT INTO history (h_date, h_c_id, h_c_w_id, h_w_id, h_c_d_id, h_d_id, h_amount, h_data)
        SELECT utc_timestamp(), payer, c_w, w, c_d, d, amount, CONCAT(w_name, '    ', d_name)
        FROM warehouse STRAIGHT_JOIN district WHERE w_id = w AND d_w_id = w AND d_id = d;
    END IF;
    COMMIT;
    SELECT payer;
END//

DROP PROCEDURE IF EXISTS kneebench_order_status//
-- 2.6: the lines of a customer's last order, each with the order's head and the customer.
CREATE PROCEDURE kneebench_order_status(w int, d int, c int,
    last_name varchar(16) CHARACTER SET ascii COLLATE ascii_bin)
SQL SECURITY INVOKER
BEGIN
    DECLARE buyer int DEFAULT c;
    DECLARE before_middle int;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION READ ONLY;
    IF buyer = 0 THEN
        SELECT (count(*) - 1) DIV 2 INTO before_middle FROM customer
        WHERE c_w_id = w AND c_d_id = d AND c_last = last_name;
        SELECT c_id INTO buyer FROM customer
        WHERE c_w_id = w AND c_d_id = d AND c_last = last_name
        ORDER BY c_first, c_id LIMIT before_middle, 1;
    END IF;
    SELECT c_id, c_first, c_middle, c_last, c_balance, o_id, o_entry_d, o_carrier_id, ol_i_id,
        ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
    FROM customer STRAIGHT_JOIN orders STRAIGHT_JOIN order_line
    WHERE c_w_id = w AND c_d_id = d AND c_id = buyer AND o_w_id = w AND o_d_id = d AND o_id = (
            SELECT max(o_id) FROM orders WHERE o_w_id = w AND o_d_id = d AND o_c_id = buyer)
        AND ol_w_id = w AND ol_d_id = d AND ol_o_id = o_id;
    COMMIT;
END//

DROP PROCEDURE IF EXISTS kneebench_delivery//
-- 2.7: the oldest undelivered order of each of the ten districts; how many there were. A DELETE
-- waits for another delivery that has taken the oldest order of the district, and then takes the
-- next one (or the same, if the other rolled back): no gap can come into new_order (condition 3).
CREATE PROCEDURE kneebench_delivery(w int, carrier int)
SQL SECURITY INVOKER
BEGIN
    DECLARE district_id int DEFAULT 1;
    DECLARE delivered int DEFAULT 0;
    DECLARE taken varchar(250) CHARACTER SET ascii DEFAULT '';
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION;
    WHILE district_id <= 10 DO
        DELETE FROM new_order
        WHERE no_w_id = w AND no_d_id = district_id AND LAST_INSERT_ID(no_o_id) > 0
        ORDER BY no_o_id LIMIT 1;
        IF ROW_COUNT() > 0 THEN
            SET delivered = delivered + 1;
            SET taken = CONCAT(taken, ',[', district_id, ',', LAST_INSERT_ID(), ']');
        END IF;
        SET district_id = district_id + 1;
    END WHILE;
    IF delivered > 0 THEN
        SET taken = CONCAT('[', SUBSTRING(taken, 2), ']');
        UPDATE JSON_TABLE(taken, '$[*]' COLUMNS (d int PATH '$[0]', o int PATH '$[1]')) AS head
        STRAIGHT_JOIN orders ON o_w_id = w AND o_d_id = d AND o_id = o
        STRAIGHT_JOIN order_line ON ol_w_id = w AND ol_d_id = d AND ol_o_id = o
        SET o_carrier_id = carrier, ol_delivery_d = utc_timestamp();
        UPDATE (
            SELECT o_d_id AS d, o_c_id AS c, sum(ol_amount) AS amount
            FROM JSON_TABLE(taken, '$[*]' COLUMNS (d int PATH '$[0]', o int PATH '$[1]')) AS head
            STRAIGHT_JOIN orders ON o_w_id = w AND o_d_id = d AND o_id = o
            STRAIGHT_JOIN order_line ON ol_w_id = w AND ol_d_id = d AND ol_o_id = o
            GROUP BY o_d_id, o_c_id) AS owed
        STRAIGHT_JOIN customer ON c_w_id = w AND c_d_id = d AND c_id = c
        SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1;
    END IF;
    COMMIT;
    SELECT delivered;
END//

DROP PROCEDURE IF EXISTS kneebench_stock_level//
-- 2.8: how many items of the district's last 20 orders are short in stock.
CREATE PROCEDURE kneebench_stock_level(w int, d int, threshold int)
SQL SECURITY INVOKER
BEGIN
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
        ROLLBACK;
        RESIGNAL;
    END;

    START TRANSACTION READ ONLY;
    SELECT count(DISTINCT ol_i_id) AS low
    FROM district STRAIGHT_JOIN order_line STRAIGHT_JOIN stock
    WHERE d_w_id = w AND d_id = d AND ol_w_id = w AND ol_d_id = d AND ol_o_id < d_next_o_id
        AND ol_o_id >= d_next_o_id - 20 AND s_w_id = w AND s_i_id = ol_i_id
        AND s_quantity < threshold;
    COMMIT;
END//
