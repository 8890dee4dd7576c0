-- The twelve consistency conditions (TPC-C 3.3.2) in SQL that every database has, each a query for
-- what breaks it: the numbers of a warehouse, of a district and of what is in it (0 for none), and
-- by how much it is off. Asked for the warehouses of the list {warehouses}. Each begins with a line
-- "-- number: what must hold".

-- 1: W_YTD = sum D_YTD
SELECT w_id, 0, 0, w_ytd - COALESCE(ytd, 0)
FROM warehouse
LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS ytd FROM district GROUP BY d_w_id) d ON d_w_id = w_id
WHERE w_id IN {warehouses} AND (w_ytd <> COALESCE(ytd, 0) OR w_ytd IS NULL);

-- 2: D_NEXT_O_ID - 1 = max O_ID = max NO_O_ID (in districts that have new orders)
SELECT d_w_id, d_id, 0, d_next_o_id - 1 - COALESCE(latest, 0)
FROM district
LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS latest FROM orders GROUP BY o_w_id, o_d_id) o
    ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS newest FROM new_order
    GROUP BY no_w_id, no_d_id) n ON no_w_id = d_w_id AND no_d_id = d_id
WHERE d_w_id IN {warehouses} AND (COALESCE(latest, 0) <> d_next_o_id - 1
    OR newest <> latest OR d_next_o_id IS NULL);

-- 3: max NO_O_ID - min NO_O_ID + 1 = rows of NEW_ORDER in the district
SELECT no_w_id, no_d_id, 0, MAX(no_o_id) - MIN(no_o_id) + 1 - COUNT(*)
FROM new_order WHERE no_w_id IN {warehouses}
GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*);

-- 4: sum O_OL_CNT = rows of ORDER_LINE in the district
SELECT o_w_id, o_d_id, 0, wanted - COALESCE(there, 0)
FROM (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS wanted FROM orders
    WHERE o_w_id IN {warehouses} GROUP BY o_w_id, o_d_id) o
LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS there FROM order_line
    WHERE ol_w_id IN {warehouses} GROUP BY ol_w_id, ol_d_id) l
    ON ol_w_id = o_w_id AND ol_d_id = o_d_id
WHERE wanted <> COALESCE(there, 0);

-- 5: O_CARRIER_ID is null exactly where a NEW_ORDER row exists
SELECT o_w_id, o_d_id, o_id, 1
FROM orders
LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE o_w_id IN {warehouses} AND ((o_carrier_id IS NULL AND no_o_id IS NULL)
    OR (o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL))
UNION ALL
SELECT no_w_id, no_d_id, no_o_id, 1
FROM new_order
LEFT JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id
WHERE no_w_id IN {warehouses} AND o_id IS NULL;

-- 6: O_OL_CNT = lines of the order
SELECT o_w_id, o_d_id, o_id, o_ol_cnt - COALESCE(there, 0)
FROM orders
LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS there FROM order_line
    WHERE ol_w_id IN {warehouses} GROUP BY ol_w_id, ol_d_id, ol_o_id) l
    ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE o_w_id IN {warehouses} AND o_ol_cnt <> COALESCE(there, 0)
UNION ALL
SELECT ol_w_id, ol_d_id, ol_o_id, -1
FROM order_line
LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
WHERE ol_w_id IN {warehouses} AND o_id IS NULL;

-- 7: OL_DELIVERY_D is null exactly where O_CARRIER_ID is null
SELECT o_w_id, o_d_id, o_id, 1
FROM orders
JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE o_w_id IN {warehouses} AND ((ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL)
    OR (ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL));

-- 8: W_YTD = sum H_AMOUNT
SELECT w_id, 0, 0, w_ytd - COALESCE(paid, 0)
FROM warehouse
LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id) h ON h_w_id = w_id
WHERE w_id IN {warehouses} AND (w_ytd <> COALESCE(paid, 0) OR w_ytd IS NULL);

-- 9: D_YTD = sum H_AMOUNT of the district
SELECT d_w_id, d_id, 0, d_ytd - COALESCE(paid, 0)
FROM district
LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) h
    ON h_w_id = d_w_id AND h_d_id = d_id
WHERE d_w_id IN {warehouses} AND (d_ytd <> COALESCE(paid, 0) OR d_ytd IS NULL);

-- 10: C_BALANCE = sum of delivered OL_AMOUNT - sum H_AMOUNT
SELECT c_w_id, c_d_id, c_id, c_balance - COALESCE(owed, 0) + COALESCE(paid, 0)
FROM customer
LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS owed FROM orders
    JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
    WHERE o_w_id IN {warehouses} AND ol_delivery_d IS NOT NULL
    GROUP BY o_w_id, o_d_id, o_c_id) l
    ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history
    WHERE h_c_w_id IN {warehouses} GROUP BY h_c_w_id, h_c_d_id, h_c_id) h
    ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
WHERE c_w_id IN {warehouses}
    AND (c_balance <> COALESCE(owed, 0) - COALESCE(paid, 0) OR c_balance IS NULL);

-- 11: orders - new orders = 2100 in the district, and those delivered since the load
SELECT o_w_id, o_d_id, 0, there - COALESCE(undelivered, 0) - 2100 - delivered
FROM (SELECT o_w_id, o_d_id, COUNT(*) AS there FROM orders
    WHERE o_w_id IN {warehouses} GROUP BY o_w_id, o_d_id) o
LEFT JOIN (SELECT no_w_id, no_d_id, COUNT(*) AS undelivered FROM new_order
    WHERE no_w_id IN {warehouses} GROUP BY no_w_id, no_d_id) n
    ON no_w_id = o_w_id AND no_d_id = o_d_id
JOIN (SELECT c_w_id, c_d_id, SUM(c_delivery_cnt) AS delivered FROM customer
    WHERE c_w_id IN {warehouses} GROUP BY c_w_id, c_d_id) c
    ON c_w_id = o_w_id AND c_d_id = o_d_id
WHERE there - COALESCE(undelivered, 0) <> 2100 + delivered;

-- 12: C_BALANCE + C_YTD_PAYMENT = sum of delivered OL_AMOUNT
SELECT c_w_id, c_d_id, c_id, c_balance + c_ytd_payment - COALESCE(owed, 0)
FROM customer
LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS owed FROM orders
    JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
    WHERE o_w_id IN {warehouses} AND ol_delivery_d IS NOT NULL
    GROUP BY o_w_id, o_d_id, o_c_id) l
    ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
WHERE c_w_id IN {warehouses} AND (c_balance + c_ytd_payment <> COALESCE(owed, 0)
    OR c_balance IS NULL OR c_ytd_payment IS NULL);
