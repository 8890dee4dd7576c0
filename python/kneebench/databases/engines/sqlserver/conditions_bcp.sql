-- Conditions 5 and 7 over a schema that HammerDB loaded by bcp: it gives a carrier to the orders
-- 2101 to 3000 of a district, which are not delivered. Until they are, they are left out. The form
-- is that of conditions.sql.

-- 5: O_CARRIER_ID is null exactly where a NEW_ORDER row exists, except undelivered loaded orders
SELECT CONCAT('warehouse ', coalesce(o_w_id, no_w_id), ' district ', coalesce(o_d_id,
    no_d_id), ' order ', coalesce(o_id, no_o_id)) AS place, 1 AS wrong_by
FROM (SELECT o_w_id, o_d_id, o_id FROM dbo.orders WHERE o_w_id IN ({warehouses})
    AND o_carrier_id IS NULL) AS o
FULL JOIN (SELECT no_w_id, no_d_id, no_o_id FROM dbo.new_order
    WHERE no_w_id IN ({warehouses})) AS n
    ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE no_o_id IS NULL OR o_id IS NULL AND no_o_id > 3000;

-- 7: OL_DELIVERY_D is null exactly where O_CARRIER_ID is null, except undelivered loaded orders
SELECT CONCAT('warehouse ', o_w_id, ' district ', o_d_id, ' order ', o_id) AS place, 1 AS wrong_by
FROM dbo.orders
JOIN dbo.order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
LEFT JOIN dbo.new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
WHERE o_w_id IN ({warehouses}) AND ol_w_id IN ({warehouses})
    AND (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL
            AND (no_o_id IS NULL OR no_o_id > 3000)
        OR ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL);
