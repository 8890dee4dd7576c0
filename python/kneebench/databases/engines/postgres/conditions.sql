-- The twelve consistency conditions (TPC-C 3.3.2), each a query for what breaks it: `place` says
-- where, `off` by how much. Asked for the warehouses of the array %(warehouses)s. Each begins with
-- a line "-- number: what must hold".

-- 1: W_YTD = sum D_YTD
SELECT format('warehouse %%s', w_id) AS place, w_ytd - d.ytd AS off
FROM public.warehouse
JOIN (SELECT d_w_id, sum(d_ytd) AS ytd FROM public.district
    WHERE d_w_id = ANY (%(warehouses)s) GROUP BY d_w_id) AS d ON d_w_id = w_id
WHERE w_ytd <> d.ytd;

-- 2: D_NEXT_O_ID - 1 = max O_ID = max NO_O_ID (in districts that have new orders)
SELECT format('warehouse %%s district %%s', d_w_id, d_id) AS place,
    d_next_o_id - 1 - least(o.last, coalesce(n.last, o.last)) AS off
FROM public.district
LEFT JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last FROM public.orders
    WHERE o_w_id = ANY (%(warehouses)s) GROUP BY o_w_id, o_d_id) AS o
    ON o_w_id = d_w_id AND o_d_id = d_id
LEFT JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS last FROM public.new_order
    WHERE no_w_id = ANY (%(warehouses)s) GROUP BY no_w_id, no_d_id) AS n
    ON no_w_id = d_w_id AND no_d_id = d_id
WHERE d_w_id = ANY (%(warehouses)s)
    AND (d_next_o_id - 1 IS DISTINCT FROM o.last OR n.last <> o.last);

-- 3: max NO_O_ID - min NO_O_ID + 1 = rows of NEW_ORDER in the district
SELECT format('warehouse %%s district %%s', no_w_id, no_d_id) AS place,
    max(no_o_id) - min(no_o_id) + 1 - count(*) AS off
FROM public.new_order WHERE no_w_id = ANY (%(warehouses)s)
GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*);

-- 4: sum O_OL_CNT = rows of ORDER_LINE in the district
SELECT format('warehouse %%s district %%s', o_w_id, o_d_id) AS place,
    o.lines - coalesce(l.lines, 0) AS off
FROM (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS lines FROM public.orders
    WHERE o_w_id = ANY (%(warehouses)s) GROUP BY o_w_id, o_d_id) AS o
LEFT JOIN (SELECT ol_w_id, ol_d_id, count(*) AS lines FROM public.order_line
    WHERE ol_w_id = ANY (%(warehouses)s) GROUP BY ol_w_id, ol_d_id) AS l
    ON ol_w_id = o_w_id AND ol_d_id = o_d_id
WHERE o.lines IS DISTINCT FROM l.lines;

-- 5: O_CARRIER_ID is null exactly where a NEW_ORDER row exists
SELECT format('warehouse %%s district %%s order %%s', coalesce(o_w_id, no_w_id), coalesce(o_d_id,
    no_d_id), coalesce(o_id, no_o_id)) AS place, 1 AS off
FROM (SELECT o_w_id, o_d_id, o_id FROM public.orders WHERE o_w_id = ANY (%(warehouses)s)
    AND o_carrier_id IS NULL) AS o
FULL JOIN (SELECT no_w_id, no_d_id, no_o_id FROM public.new_order
    WHERE no_w_id = ANY (%(warehouses)s)) AS n
    ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE o_id IS NULL OR no_o_id IS NULL;

-- 6: O_OL_CNT = lines of the order
SELECT format('warehouse %%s district %%s order %%s', coalesce(o_w_id, ol_w_id), coalesce(o_d_id,
    ol_d_id), coalesce(o_id, ol_o_id)) AS place,
    coalesce(o_ol_cnt, 0) - coalesce(lines, 0) AS off
FROM (SELECT o_w_id, o_d_id, o_id, o_ol_cnt FROM public.orders
    WHERE o_w_id = ANY (%(warehouses)s)) AS o
FULL JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS lines FROM public.order_line
    WHERE ol_w_id = ANY (%(warehouses)s)
           GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l
    ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE o_ol_cnt IS DISTINCT FROM lines;

-- 7: OL_DELIVERY_D is null exactly where O_CARRIER_ID is null
SELECT format('warehouse %%s district %%s order %%s', o_w_id, o_d_id, o_id) AS place, 1 AS off
FROM public.orders
JOIN public.order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
WHERE o_w_id = ANY (%(warehouses)s) AND ol_w_id = ANY (%(warehouses)s)
    AND (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL);

-- 8: W_YTD = sum H_AMOUNT
SELECT format('warehouse %%s', w_id) AS place, w_ytd - coalesce(h.paid, 0) AS off
FROM public.warehouse
LEFT JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM public.history
    WHERE h_w_id = ANY (%(warehouses)s) GROUP BY h_w_id) AS h ON h_w_id = w_id
WHERE w_id = ANY (%(warehouses)s) AND w_ytd <> coalesce(h.paid, 0);

-- 9: D_YTD = sum H_AMOUNT of the district
SELECT format('warehouse %%s district %%s', d_w_id, d_id) AS place,
    d_ytd - coalesce(h.paid, 0) AS off
FROM public.district
LEFT JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM public.history
    WHERE h_w_id = ANY (%(warehouses)s) GROUP BY h_w_id, h_d_id) AS h
    ON h_w_id = d_w_id AND h_d_id = d_id
WHERE d_w_id = ANY (%(warehouses)s) AND d_ytd <> coalesce(h.paid, 0);

-- 10: C_BALANCE = sum of delivered OL_AMOUNT - sum H_AMOUNT
SELECT format('warehouse %%s district %%s customer %%s', c_w_id, c_d_id, c_id) AS place,
    c_balance - coalesce(l.owed, 0) + coalesce(h.paid, 0) AS off
FROM public.customer
LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS owed FROM public.orders
           JOIN public.order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
           WHERE o_w_id = ANY (%(warehouses)s) AND ol_w_id = ANY (%(warehouses)s)
               AND ol_delivery_d IS NOT NULL
           GROUP BY o_w_id, o_d_id, o_c_id) AS l
    ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid FROM public.history
    WHERE h_c_w_id = ANY (%(warehouses)s)
           GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h
    ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
WHERE c_w_id = ANY (%(warehouses)s) AND c_balance <> coalesce(l.owed, 0) - coalesce(h.paid, 0);

-- 11: orders - new orders = 2100 in the district, and those delivered since the load
SELECT format('warehouse %%s district %%s', o_w_id, o_d_id) AS place,
    o.rows - coalesce(n.rows, 0) - 2100 - c.delivered AS off
FROM (SELECT o_w_id, o_d_id, count(*) AS rows FROM public.orders
    WHERE o_w_id = ANY (%(warehouses)s) GROUP BY o_w_id, o_d_id) AS o
LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS rows FROM public.new_order
    WHERE no_w_id = ANY (%(warehouses)s) GROUP BY no_w_id, no_d_id) AS n
    ON no_w_id = o_w_id AND no_d_id = o_d_id
JOIN (SELECT c_w_id, c_d_id, sum(c_delivery_cnt) AS delivered FROM public.customer
    WHERE c_w_id = ANY (%(warehouses)s) GROUP BY c_w_id, c_d_id) AS c
    ON c_w_id = o_w_id AND c_d_id = o_d_id
WHERE o.rows - coalesce(n.rows, 0) <> 2100 + c.delivered;

-- 12: C_BALANCE + C_YTD_PAYMENT = sum of delivered OL_AMOUNT
SELECT format('warehouse %%s district %%s customer %%s', c_w_id, c_d_id, c_id) AS place,
    c_balance + c_ytd_payment - coalesce(l.owed, 0) AS off
FROM public.customer
LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS owed FROM public.orders
           JOIN public.order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
           WHERE o_w_id = ANY (%(warehouses)s) AND ol_w_id = ANY (%(warehouses)s)
               AND ol_delivery_d IS NOT NULL
           GROUP BY o_w_id, o_d_id, o_c_id) AS l
    ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
WHERE c_w_id = ANY (%(warehouses)s) AND c_balance + c_ytd_payment <> coalesce(l.owed, 0);
