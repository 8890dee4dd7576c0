-- The 22 queries of TPROC-H, written from the business questions of TPC-H 3.0.1 (2.4). In braces:
-- the parameters of each (parameters.py). They run as they are on PostgreSQL, MariaDB, MySQL and
-- DuckDB: dates are computed before, and nothing else differs between these.

-- 1: sums and means of what was shipped by a day, by flag and status
SELECT l_returnflag, l_linestatus,
    sum(l_quantity) AS sum_qty,
    sum(l_extendedprice) AS sum_base_price,
    sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
    sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
    avg(l_quantity) AS avg_qty,
    avg(l_extendedprice) AS avg_price,
    avg(l_discount) AS avg_disc,
    count(*) AS count_order
FROM lineitem
WHERE l_shipdate <= {date}
GROUP BY l_returnflag, l_linestatus
ORDER BY l_returnflag, l_linestatus

-- 2: who in a region sells parts of a kind and size for the least
SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
FROM part
JOIN partsupp ON ps_partkey = p_partkey
JOIN supplier ON s_suppkey = ps_suppkey
JOIN nation ON n_nationkey = s_nationkey
JOIN region ON r_regionkey = n_regionkey
WHERE p_size = {size} AND p_type LIKE '%{type}' AND r_name = '{region}'
    AND ps_supplycost = (
        SELECT min(other.ps_supplycost)
        FROM partsupp other
        JOIN supplier seller ON seller.s_suppkey = other.ps_suppkey
        JOIN nation home ON home.n_nationkey = seller.s_nationkey
        JOIN region there ON there.r_regionkey = home.n_regionkey
        WHERE other.ps_partkey = p_partkey AND there.r_name = '{region}'
    )
ORDER BY s_acctbal DESC, n_name, s_name, p_partkey
LIMIT 100

-- 3: the orders of a market segment that were worth most and not shipped by a day
SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
FROM customer
JOIN orders ON o_custkey = c_custkey
JOIN lineitem ON l_orderkey = o_orderkey
WHERE c_mktsegment = '{segment}' AND o_orderdate < {date} AND l_shipdate > {date}
GROUP BY l_orderkey, o_orderdate, o_shippriority
ORDER BY revenue DESC, o_orderdate
LIMIT 10

-- 4: orders of a quarter with a line that came late, by priority
SELECT o_orderpriority, count(*) AS order_count
FROM orders
WHERE o_orderdate >= {date} AND o_orderdate < {end}
    AND EXISTS (
        SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate
    )
GROUP BY o_orderpriority
ORDER BY o_orderpriority

-- 5: revenue of a year within each nation of a region
SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM customer
JOIN orders ON o_custkey = c_custkey
JOIN lineitem ON l_orderkey = o_orderkey
JOIN supplier ON s_suppkey = l_suppkey AND s_nationkey = c_nationkey
JOIN nation ON n_nationkey = s_nationkey
JOIN region ON r_regionkey = n_regionkey
WHERE r_name = '{region}' AND o_orderdate >= {date} AND o_orderdate < {end}
GROUP BY n_name
ORDER BY revenue DESC

-- 6: revenue that a year's small discounts on small lines cost
SELECT sum(l_extendedprice * l_discount) AS revenue
FROM lineitem
WHERE l_shipdate >= {date} AND l_shipdate < {end}
    AND l_discount BETWEEN {discount} - 0.01 AND {discount} + 0.01
    AND l_quantity < {quantity}

-- 7: what two nations shipped to each other, by year
SELECT supp_nation, cust_nation, l_year, sum(volume) AS revenue
FROM (
    SELECT seller.n_name AS supp_nation, buyer.n_name AS cust_nation,
        EXTRACT(YEAR FROM l_shipdate) AS l_year,
        l_extendedprice * (1 - l_discount) AS volume
    FROM supplier
    JOIN lineitem ON l_suppkey = s_suppkey
    JOIN orders ON o_orderkey = l_orderkey
    JOIN customer ON c_custkey = o_custkey
    JOIN nation seller ON seller.n_nationkey = s_nationkey
    JOIN nation buyer ON buyer.n_nationkey = c_nationkey
    WHERE (
            seller.n_name = '{nation1}' AND buyer.n_name = '{nation2}'
            OR seller.n_name = '{nation2}' AND buyer.n_name = '{nation1}'
        )
        AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
) shipping
GROUP BY supp_nation, cust_nation, l_year
ORDER BY supp_nation, cust_nation, l_year

-- 8: a nation's share of what a region bought of a type, by year
SELECT o_year, sum(CASE WHEN nation = '{nation}' THEN volume ELSE 0 END) / sum(volume) AS mkt_share
FROM (
    SELECT EXTRACT(YEAR FROM o_orderdate) AS o_year,
        l_extendedprice * (1 - l_discount) AS volume,
        seller.n_name AS nation
    FROM part
    JOIN lineitem ON l_partkey = p_partkey
    JOIN supplier ON s_suppkey = l_suppkey
    JOIN orders ON o_orderkey = l_orderkey
    JOIN customer ON c_custkey = o_custkey
    JOIN nation buyer ON buyer.n_nationkey = c_nationkey
    JOIN region ON r_regionkey = buyer.n_regionkey
    JOIN nation seller ON seller.n_nationkey = s_nationkey
    WHERE r_name = '{region}' AND p_type = '{type}'
        AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31'
) all_nations
GROUP BY o_year
ORDER BY o_year

-- 9: profit on parts with a color in their name, by nation and year
SELECT nation, o_year, sum(amount) AS sum_profit
FROM (
    SELECT n_name AS nation, EXTRACT(YEAR FROM o_orderdate) AS o_year,
        l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
    FROM part
    JOIN lineitem ON l_partkey = p_partkey
    JOIN supplier ON s_suppkey = l_suppkey
    JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey
    JOIN orders ON o_orderkey = l_orderkey
    JOIN nation ON n_nationkey = s_nationkey
    WHERE p_name LIKE '%{color}%'
) profit
GROUP BY nation, o_year
ORDER BY nation, o_year DESC

-- 10: customers who lost most by what they sent back in a quarter
SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name,
    c_address, c_phone, c_comment
FROM customer
JOIN orders ON o_custkey = c_custkey
JOIN lineitem ON l_orderkey = o_orderkey
JOIN nation ON n_nationkey = c_nationkey
WHERE o_orderdate >= {date} AND o_orderdate < {end} AND l_returnflag = 'R'
GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment
ORDER BY revenue DESC
LIMIT 20

-- 11: the stock that matters most in a nation
SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS worth
FROM partsupp
JOIN supplier ON s_suppkey = ps_suppkey
JOIN nation ON n_nationkey = s_nationkey
WHERE n_name = '{nation}'
GROUP BY ps_partkey
HAVING sum(ps_supplycost * ps_availqty) > (
    SELECT sum(ps_supplycost * ps_availqty) * {fraction}
    FROM partsupp
    JOIN supplier ON s_suppkey = ps_suppkey
    JOIN nation ON n_nationkey = s_nationkey
    WHERE n_name = '{nation}'
)
ORDER BY worth DESC

-- 12: whether cheaper ways to ship delay orders that matter
SELECT l_shipmode,
    sum(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS high_line_count,
    sum(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 0 ELSE 1 END) AS low_line_count
FROM orders
JOIN lineitem ON l_orderkey = o_orderkey
WHERE l_shipmode IN ('{mode1}', '{mode2}')
    AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
    AND l_receiptdate >= {date} AND l_receiptdate < {end}
GROUP BY l_shipmode
ORDER BY l_shipmode

-- 13: how many customers have how many orders, some kinds of them left out
SELECT c_count, count(*) AS custdist
FROM (
    SELECT c_custkey, count(o_orderkey) AS c_count
    FROM customer
    LEFT JOIN orders ON o_custkey = c_custkey AND o_comment NOT LIKE '%{word1}%{word2}%'
    GROUP BY c_custkey
) c_orders
GROUP BY c_count
ORDER BY custdist DESC, c_count DESC

-- 14: the share of promotions in a month's revenue
SELECT 100.00 * sum(
        CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END
    ) / sum(l_extendedprice * (1 - l_discount)) AS promo_revenue
FROM lineitem
JOIN part ON p_partkey = l_partkey
WHERE l_shipdate >= {date} AND l_shipdate < {end}

-- 15: the supplier with most revenue in a quarter
WITH revenue AS (
    SELECT l_suppkey AS supplier_no, sum(l_extendedprice * (1 - l_discount)) AS total_revenue
    FROM lineitem
    WHERE l_shipdate >= {date} AND l_shipdate < {end}
    GROUP BY l_suppkey
)
SELECT s_suppkey, s_name, s_address, s_phone, total_revenue
FROM supplier
JOIN revenue ON supplier_no = s_suppkey
WHERE total_revenue = (SELECT max(total_revenue) FROM revenue)
ORDER BY s_suppkey

-- 16: how many suppliers can deliver parts of some sizes, without those that customers complain of
SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS supplier_cnt
FROM partsupp
JOIN part ON p_partkey = ps_partkey
WHERE p_brand <> '{brand}' AND p_type NOT LIKE '{type}%' AND p_size IN ({sizes})
    AND ps_suppkey NOT IN (
        SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%'
    )
GROUP BY p_brand, p_type, p_size
ORDER BY supplier_cnt DESC, p_brand, p_type, p_size

-- 17: what a year would lose without small orders of a part
SELECT sum(l_extendedprice) / 7.0 AS avg_yearly
FROM lineitem
JOIN part ON p_partkey = l_partkey
WHERE p_brand = '{brand}' AND p_container = '{container}'
    AND l_quantity < (
        SELECT 0.2 * avg(other.l_quantity) FROM lineitem other WHERE other.l_partkey = p_partkey
    )

-- 18: customers with very large orders
SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS quantity
FROM customer
JOIN orders ON o_custkey = c_custkey
JOIN lineitem ON l_orderkey = o_orderkey
WHERE o_orderkey IN (
    SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > {quantity}
)
GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
ORDER BY o_totalprice DESC, o_orderdate
LIMIT 100

-- 19: revenue of three kinds of parts that were delivered in person by air
SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM lineitem
JOIN part ON p_partkey = l_partkey
WHERE l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON'
    AND (
        p_brand = '{brand1}' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
            AND l_quantity BETWEEN {quantity1} AND {quantity1} + 10 AND p_size BETWEEN 1 AND 5
        OR p_brand = '{brand2}' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
            AND l_quantity BETWEEN {quantity2} AND {quantity2} + 10 AND p_size BETWEEN 1 AND 10
        OR p_brand = '{brand3}' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
            AND l_quantity BETWEEN {quantity3} AND {quantity3} + 10 AND p_size BETWEEN 1 AND 15
    )

-- 20: suppliers of a nation with far more of a part than a year ships
SELECT s_name, s_address
FROM supplier
JOIN nation ON n_nationkey = s_nationkey
WHERE n_name = '{nation}'
    AND s_suppkey IN (
        SELECT ps_suppkey
        FROM partsupp
        WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE '{color}%')
            AND ps_availqty > (
                SELECT 0.5 * sum(l_quantity)
                FROM lineitem
                WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
                    AND l_shipdate >= {date} AND l_shipdate < {end}
            )
    )
ORDER BY s_name

-- 21: suppliers who alone kept an order waiting
SELECT s_name, count(*) AS numwait
FROM supplier
JOIN lineitem late ON late.l_suppkey = s_suppkey
JOIN orders ON o_orderkey = late.l_orderkey
JOIN nation ON n_nationkey = s_nationkey
WHERE n_name = '{nation}' AND o_orderstatus = 'F' AND late.l_receiptdate > late.l_commitdate
    AND EXISTS (
        SELECT 1 FROM lineitem other
        WHERE other.l_orderkey = late.l_orderkey AND other.l_suppkey <> late.l_suppkey
    )
    AND NOT EXISTS (
        SELECT 1 FROM lineitem other
        WHERE other.l_orderkey = late.l_orderkey AND other.l_suppkey <> late.l_suppkey
            AND other.l_receiptdate > other.l_commitdate
    )
GROUP BY s_name
ORDER BY numwait DESC, s_name
LIMIT 100

-- 22: well-off customers of some countries who never ordered
SELECT cntrycode, count(*) AS numcust, sum(c_acctbal) AS totacctbal
FROM (
    SELECT substring(c_phone FROM 1 FOR 2) AS cntrycode, c_acctbal
    FROM customer
    WHERE substring(c_phone FROM 1 FOR 2) IN ({codes})
        AND c_acctbal > (
            SELECT avg(c_acctbal)
            FROM customer
            WHERE c_acctbal > 0.00 AND substring(c_phone FROM 1 FOR 2) IN ({codes})
        )
        AND NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)
) custsale
GROUP BY cntrycode
ORDER BY cntrycode
