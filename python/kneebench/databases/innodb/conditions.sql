-- The twelve consistency conditions (TPC-C 3.3.2), each a query for what breaks it: `place` says
-- where, `off` by how much. Asked for the warehouses of the list %(warehouses)s. Each begins with a
-- line "-- number: what must hold". MariaDB and MySQL have no FULL JOIN: both sides are asked.

-- 1: W_YTD = sum D_YTD
SELECT CONCAT('warehouse ', w_id) AS place, w_ytd - d.ytd AS off
FROM warehouse
JOIN (SELECT d_w_id, sum(d_ytd) AS ytd FROM district
    WHERE d_w_id IN %(warehouses)s GROUP BY d_w_id) AS d ON d_w_id = w_id
WHERE w_ytd <> d.ytd;

-- 2: D_NEXT_O_ID - 1 = max O_ID = max NO_O_ID (in districts that have new orders)
SELECT CONCAT('warehouse ', d_w_id, ' district ', d_id) AS place,
    d_next_o_id - 1 - LEAST(COALESCE(o.latest, 0), COALESCE(n.latest, o.latest, 0)) AS off
FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS latest FROM orders
    WHERE o_w_id IN %(warehouses)s GROUP BY o_w_id, o_d_id) AS o
    ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS latest FROM new_order
    WHERE no_w_id IN %(warehouses)s GROUP BY no_w_id, no_d_id) AS n
    ON no_w_id = d_w_id AND no_d_id = d_id
WHERE d_w_id IN %(warehouses)s AND (NOT d_next_o_id - 1 <=> o.latest OR n.latest <> o.latest);

-- 3: max NO_O_ID - min NO_O_ID + 1 = rows of NEW_ORDER in the district
SELECT CONCAT('warehouse ', no_w_id, ' district ', no_d_id) AS place,
    max(no_o_id) - min(no_o_id) + 1 - count(*) AS off
FROM new_order WHERE no_w_id IN %(warehouses)s
GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*);

-- 4: sum O_OL_CNT = rows of ORDER_LINE in the district
SELECT CONCAT('warehouse ', o_w_id, ' district ', o_d_id) AS place,
    o.rows_wanted - COALESCE(l.rows_there, 0) AS off
FROM (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS rows_wanted FROM orders
    WHERE o_w_id IN %(warehouses)s GROUP BY o_w_id, o_d_id) AS o
LEFT JOIN (SELECT ol_w_id, ol_d_id, count(*) AS rows_there FROM order_line
    WHERE ol_w_id IN %(warehouses)s GROUP BY ol_w_id, ol_d_id) AS l
    ON ol_w_id = o_w_id AND ol_d_id = o_d_id
WHERE NOT o.rows_wanted <=> l.rows_there;

-- 5: O_CARRIER_ID is null exactly where a NEW_ORDER row exists
SELECT CONCAT('warehouse ', o_w_id, ' district ', o_d_id, ' order ', o_id) AS place, 1 AS off
FROM orders
LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE o_w_id IN %(warehouses)s AND (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)
UNION ALL
SELECT CONCAT('warehouse ', no_w_id, ' district ', no_d_id, ' order ', no_o_id), 1
FROM new_order
LEFT JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id
WHERE no_w_id IN %(warehouses)s AND o_id IS NULL;

-- 6: O_OL_CNT = lines of the order
SELECT CONCAT('warehouse ', o_w_id, ' district ', o_d_id, ' order ', o_id) AS place,
    o_ol_cnt - COALESCE(rows_there, 0) AS off
FROM orders
LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS rows_there FROM order_line
    WHERE ol_w_id IN %(warehouses)s GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l
    ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE o_w_id IN %(warehouses)s AND NOT o_ol_cnt <=> rows_there
UNION ALL
SELECT CONCAT('warehouse ', ol_w_id, ' district ', ol_d_id, ' order ', ol_o_id), -1
FROM order_line
LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE ol_w_id IN %(warehouses)s AND o_id IS NULL;

-- 7: OL_DELIVERY_D is null exactly where O_CARRIER_ID is null
SELECT CONCAT('warehouse ', o_w_id, ' district ', o_d_id, ' order ', o_id) AS place, 1 AS off
FROM orders
JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE o_w_id IN %(warehouses)s AND (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL);

-- 8: W_YTD = sum H_AMOUNT
SELECT CONCAT('warehouse ', w_id) AS place, w_ytd - COALESCE(h.paid, 0) AS off
FROM warehouse
LEFT JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history
    WHERE h_w_id IN %(warehouses)s GROUP BY h_w_id) AS h ON h_w_id = w_id
WHERE w_id IN %(warehouses)s AND w_ytd <> COALESCE(h.paid, 0);

-- 9: D_YTD = sum H_AMOUNT of the district
SELECT CONCAT('warehouse ', d_w_id, ' district ', d_id) AS place,
    d_ytd - COALESCE(h.paid, 0) AS off
FROM district
LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history
    WHERE h_w_id IN %(warehouses)s GROUP BY h_w_id, h_d_id) AS h
    ON h_w_id = d_w_id AND h_d_id = d_id
WHERE d_w_id IN %(warehouses)s AND d_ytd <> COALESCE(h.paid, 0);

-- 10: C_BALANCE = sum of delivered OL_AMOUNT - sum H_AMOUNT
SELECT CONCAT('warehouse ', c_w_id, ' district ', c_d_id, ' customer ', c_id) AS place,
    c_balance - COALESCE(l.owed, 0) + COALESCE(h.paid, 0) AS off
FROM customer
LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS owed FROM orders
    JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
    WHERE o_w_id IN %(warehouses)s AND ol_delivery_d IS NOT NULL
    GROUP BY o_w_id, o_d_id, o_c_id) AS l
    ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM history
    WHERE h_c_w_id IN %(warehouses)s GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h
    ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
WHERE c_w_id IN %(warehouses)s AND c_balance <> COALESCE(l.owed, 0) - COALESCE(h.paid, 0);

-- 11: orders - new orders = 2100 in the district, and those delivered since the load
SELECT CONCAT('warehouse ', o_w_id, ' district ', o_d_id) AS place,
    o.rows_there - COALESCE(n.rows_there, 0) - 2100 - c.delivered AS off
FROM (SELECT o_w_id, o_d_id, count(*) AS rows_there FROM orders
    WHERE o_w_id IN %(warehouses)s GROUP BY o_w_id, o_d_id) AS o
LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS rows_there FROM new_order
    WHERE no_w_id IN %(warehouses)s GROUP BY no_w_id, no_d_id) AS n
    ON no_w_id = o_w_id AND no_d_id = o_d_id
JOIN (SELECT c_w_id, c_d_id, sum(c_delivery_cnt) AS delivered FROM customer
    WHERE c_w_id IN %(warehouses)s GROUP BY c_w_id, c_d_id) AS c
    ON c_w_id = o_w_id AND c_d_id = o_d_id
WHERE o.rows_there - COALESCE(n.rows_there, 0) <> 2100 + c.delivered;

-- 12: C_BALANCE + C_YTD_PAYMENT = sum of delivered OL_AMOUNT
SELECT CONCAT('warehouse ', c_w_id, ' district ', c_d_id, ' customer ', c_id) AS place,
    c_balance + c_ytd_payment - COALESCE(l.owed, 0) AS off
FROM customer
LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS owed FROM orders
    JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
    WHERE o_w_id IN %(warehouses)s AND ol_delivery_d IS NOT NULL
    GROUP BY o_w_id, o_d_id, o_c_id) AS l
    ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
WHERE c_w_id IN %(warehouses)s AND c_balance + c_ytd_payment <> COALESCE(l.owed, 0);
