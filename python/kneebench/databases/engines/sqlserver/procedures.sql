-- The five transactions of TPROC-C (TPC-C 2.4 to 2.8) as procedures: one call, one round trip, one
-- transaction; the same meaning as on PostgreSQL. Batches end with GO.
--
-- READ COMMITTED, right with locks, with row versions (READ_COMMITTED_SNAPSHOT) and on Babelfish,
-- which has row versions and ignores lock hints. So a row that is counted up is written first and
-- then read in the same transaction: never read WITH (UPDLOCK) and then written (Babelfish does
-- not lock), nor read by OUTPUT or by SET @v = column in the UPDATE (Babelfish may return a stale
-- value). Every procedure takes its locks in one order, so that no two of them can wait for each
-- other:
--   orders, order_line  <  customer  <  district  <  warehouse, and district  <  stock by (s_i_id,
--     s_w_id).
-- A shared lock counts, too: new_order reads the customer and the warehouse before it locks
-- anything.
--
-- No table variable and no window function: both may write to tempdb, and a table variable costs
-- Babelfish two milliseconds. The lines of an order are fixed parameters, absent ones NULL, and
-- VALUES makes rows of them. The hints (join order, nested loops, one core) keep the plans by the
-- keys, whatever values a plan was first compiled for; Babelfish ignores them.

IF SCHEMA_ID('kneebench') IS NULL EXEC('CREATE SCHEMA kneebench');
GO
DROP PROCEDURE IF EXISTS kneebench.new_order;
GO
-- 2.4: an order of @lines lines; its total. With an item that does not exist (error 50404)
-- everything else is written first and then rolled back.
--
-- An UPDATE meets a row once, so lines of one item and supplier are added up. Line by line, a
-- quantity stays in 10 to 100 and falls modulo 91, so the quantity after several lines is the one
-- number in 10 to 100 that is congruent; 172 = 2 * 91 - 10 keeps the dividend above zero.
CREATE PROCEDURE kneebench.new_order @w int, @d smallint, @c int, @lines smallint,
    @i1 int = NULL, @s1 int = NULL, @q1 smallint = NULL,
    @i2 int = NULL, @s2 int = NULL, @q2 smallint = NULL,
    @i3 int = NULL, @s3 int = NULL, @q3 smallint = NULL,
    @i4 int = NULL, @s4 int = NULL, @q4 smallint = NULL,
    @i5 int = NULL, @s5 int = NULL, @q5 smallint = NULL,
    @i6 int = NULL, @s6 int = NULL, @q6 smallint = NULL,
    @i7 int = NULL, @s7 int = NULL, @q7 smallint = NULL,
    @i8 int = NULL, @s8 int = NULL, @q8 smallint = NULL,
    @i9 int = NULL, @s9 int = NULL, @q9 smallint = NULL,
    @i10 int = NULL, @s10 int = NULL, @q10 smallint = NULL,
    @i11 int = NULL, @s11 int = NULL, @q11 smallint = NULL,
    @i12 int = NULL, @s12 int = NULL, @q12 smallint = NULL,
    @i13 int = NULL, @s13 int = NULL, @q13 smallint = NULL,
    @i14 int = NULL, @s14 int = NULL, @q14 smallint = NULL,
    @i15 int = NULL, @s15 int = NULL, @q15 smallint = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @o int, @made int, @discount decimal(4, 4), @w_tax decimal(4, 4), @d_tax decimal(4, 4);

    SELECT @discount = c_discount FROM dbo.customer WHERE c_w_id = @w AND c_d_id = @d AND c_id = @c;
    SELECT @w_tax = w_tax FROM dbo.warehouse WHERE w_id = @w;

    BEGIN TRANSACTION;
    UPDATE dbo.district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = @w AND d_id = @d;
    SELECT @o = d_next_o_id - 1, @d_tax = d_tax FROM dbo.district WHERE d_w_id = @w AND d_id = @d;

    INSERT INTO dbo.orders (o_entry_d, o_id, o_w_id, o_c_id, o_d_id, o_ol_cnt, o_all_local)
    VALUES (SYSUTCDATETIME(), @o, @w, @c, @d, @lines,
        CASE WHEN COALESCE(@s1, @w) = @w AND COALESCE(@s2, @w) = @w
            AND COALESCE(@s3, @w) = @w AND COALESCE(@s4, @w) = @w AND COALESCE(@s5, @w) = @w
            AND COALESCE(@s6, @w) = @w AND COALESCE(@s7, @w) = @w AND COALESCE(@s8, @w) = @w
            AND COALESCE(@s9, @w) = @w AND COALESCE(@s10, @w) = @w AND COALESCE(@s11, @w) = @w
            AND COALESCE(@s12, @w) = @w AND COALESCE(@s13, @w) = @w AND COALESCE(@s14, @w) = @w
            AND COALESCE(@s15, @w) = @w
            THEN 1 ELSE 0 END);
    INSERT INTO dbo.new_order (no_w_id, no_o_id, no_d_id) VALUES (@w, @o, @d);

    UPDATE s
    SET s_quantity = 10 + (s_quantity - line.quantity + 172) % 91,
        s_ytd = s_ytd + line.quantity,
        s_order_cnt = s_order_cnt + line.orders,
        s_remote_cnt = s_remote_cnt + CASE WHEN line.supplier = @w THEN 0 ELSE line.orders END
    FROM (
        SELECT TOP (15) item, supplier, SUM(quantity) AS quantity, COUNT(*) AS orders
        FROM (VALUES
                (@i1, @s1, @q1), (@i2, @s2, @q2), (@i3, @s3, @q3),
                (@i4, @s4, @q4), (@i5, @s5, @q5), (@i6, @s6, @q6),
                (@i7, @s7, @q7), (@i8, @s8, @q8), (@i9, @s9, @q9),
                (@i10, @s10, @q10), (@i11, @s11, @q11), (@i12, @s12, @q12),
                (@i13, @s13, @q13), (@i14, @s14, @q14), (@i15, @s15, @q15)
            ) AS given (item, supplier, quantity)
        WHERE item IS NOT NULL
        GROUP BY item, supplier
        ORDER BY item, supplier) AS line
    JOIN dbo.stock AS s ON s.s_i_id = line.item AND s.s_w_id = line.supplier
    OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

    INSERT INTO dbo.order_line (ol_o_id, ol_w_id, ol_i_id, ol_supply_w_id, ol_d_id, ol_number,
        ol_quantity, ol_amount, ol_dist_info)
    SELECT @o, @w, line.item, line.supplier, @d, line.n, line.quantity, line.quantity * i_price,
        CASE @d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
                WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
                WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
                ELSE s_dist_10 END
    FROM (VALUES
            (1, @i1, @s1, @q1), (2, @i2, @s2, @q2), (3, @i3, @s3, @q3),
            (4, @i4, @s4, @q4), (5, @i5, @s5, @q5), (6, @i6, @s6, @q6),
            (7, @i7, @s7, @q7), (8, @i8, @s8, @q8), (9, @i9, @s9, @q9),
            (10, @i10, @s10, @q10), (11, @i11, @s11, @q11), (12, @i12, @s12, @q12),
            (13, @i13, @s13, @q13), (14, @i14, @s14, @q14), (15, @i15, @s15, @q15)
        ) AS line (n, item, supplier, quantity)
    JOIN dbo.item ON i_id = line.item
    JOIN dbo.stock ON s_i_id = line.item AND s_w_id = line.supplier
    OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
    SET @made = @@ROWCOUNT;

    IF @made < @lines
    BEGIN
        ROLLBACK TRANSACTION;
        THROW 50404, 'item number is not valid', 1;
    END;
    -- Babelfish loses the precision of a computed result that is not cast.
    SELECT CAST(SUM(ol_amount) * (1 - @discount) * (1 + @w_tax + @d_tax) AS decimal(12, 4)) AS total
    FROM dbo.order_line WHERE ol_w_id = @w AND ol_d_id = @d AND ol_o_id = @o;
    COMMIT TRANSACTION;
END
GO
DROP PROCEDURE IF EXISTS kneebench.payment;
GO
-- 2.5: a payment of the customer (@c_w, @c_d, @c), or with @c = 0 of the middle one of that last
-- name by first name (2.5.2.2: number n/2 rounded up), at (@w, @d); the customer's number.
CREATE PROCEDURE kneebench.payment @w int, @d smallint, @c_w int, @c_d smallint, @c int,
    @c_last varchar(16), @amount_cents int
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @named int, @amount decimal(12, 2) = @amount_cents * 0.01;

    IF @c = 0
    BEGIN
        SELECT @named = COUNT(*) FROM dbo.customer
        WHERE c_w_id = @c_w AND c_d_id = @c_d AND c_last = @c_last;
        SELECT @c = c_id FROM dbo.customer
        WHERE c_w_id = @c_w AND c_d_id = @c_d AND c_last = @c_last
        ORDER BY c_first, c_id OFFSET (@named - 1) / 2 ROWS FETCH NEXT 1 ROWS ONLY;
    END;

    BEGIN TRANSACTION;
    UPDATE dbo.customer
    SET c_balance = c_balance - @amount,
        c_ytd_payment = c_ytd_payment + @amount,
        c_payment_cnt = c_payment_cnt + 1,
        c_data = CASE WHEN c_credit = 'BC'
            THEN LEFT(CONCAT(@c, ' ', @c_d, ' ', @c_w, ' ', @d, ' ', @w, ' ', @amount, '|', c_data),
                500)
            ELSE c_data END
    WHERE c_w_id = @c_w AND c_d_id = @c_d AND c_id = @c;
    UPDATE dbo.district SET d_ytd = d_ytd + @amount WHERE d_w_id = @w AND d_id = @d;
    UPDATE dbo.warehouse SET w_ytd = w_ytd + @amount WHERE w_id = @w;
    INSERT INTO dbo.history (h_date, h_c_id, h_c_w_id, h_w_id, h_c_d_id, h_d_id, h_amount, h_data)
    SELECT SYSUTCDATETIME(), @c, @c_w, @w, @c_d, @d, @amount, CONCAT(w_name, '    ', d_name)
    FROM dbo.warehouse JOIN dbo.district ON d_w_id = w_id
    WHERE w_id = @w AND d_id = @d;
    COMMIT TRANSACTION;
    SELECT @c AS customer;
END
GO
DROP PROCEDURE IF EXISTS kneebench.order_status;
GO
-- 2.6: the lines of a customer's last order, each with the order's head and the customer.
CREATE PROCEDURE kneebench.order_status @w int, @d smallint, @c int, @c_last varchar(16)
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @named int;

    IF @c = 0
    BEGIN
        SELECT @named = COUNT(*) FROM dbo.customer
        WHERE c_w_id = @w AND c_d_id = @d AND c_last = @c_last;
        SELECT @c = c_id FROM dbo.customer
        WHERE c_w_id = @w AND c_d_id = @d AND c_last = @c_last
        ORDER BY c_first, c_id OFFSET (@named - 1) / 2 ROWS FETCH NEXT 1 ROWS ONLY;
    END;

    SELECT c_id, c_first, c_middle, c_last, c_balance, latest.o_id, latest.o_entry_d,
        latest.o_carrier_id, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
    FROM dbo.customer
    CROSS APPLY (
        SELECT TOP (1) o_id, o_entry_d, o_carrier_id FROM dbo.orders
        WHERE o_w_id = @w AND o_d_id = @d AND o_c_id = @c ORDER BY o_id DESC) AS latest
    JOIN dbo.order_line ON ol_w_id = @w AND ol_d_id = @d AND ol_o_id = latest.o_id
    WHERE c_w_id = @w AND c_d_id = @d AND c_id = @c
    OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
END
GO
DROP PROCEDURE IF EXISTS kneebench.delivery;
GO
-- 2.7: the oldest undelivered order of each of the ten districts; how many there were. Deliveries
-- of one warehouse wait for each other by a lock of the transaction, before anything is read: else
-- two could deliver the same order, and a crash between them could leave a gap (condition 3).
CREATE PROCEDURE kneebench.delivery @w int, @carrier smallint
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @resource nvarchar(40) = CONCAT('kneebench delivery ', @w), @granted int,
        @delivered int,
        @o1 int, @o2 int, @o3 int, @o4 int, @o5 int, @o6 int, @o7 int, @o8 int, @o9 int, @o10 int;

    BEGIN TRANSACTION;
    EXEC @granted = sp_getapplock @Resource = @resource, @LockMode = 'Exclusive',
        @LockOwner = 'Transaction', @LockTimeout = -1;
    IF @granted < 0
    BEGIN
        ROLLBACK TRANSACTION;
        THROW 50409, 'the lock of a delivery was not granted', 1;
    END;

    SELECT
        @o1 = MAX(CASE d WHEN 1 THEN o END), @o2 = MAX(CASE d WHEN 2 THEN o END),
        @o3 = MAX(CASE d WHEN 3 THEN o END), @o4 = MAX(CASE d WHEN 4 THEN o END),
        @o5 = MAX(CASE d WHEN 5 THEN o END), @o6 = MAX(CASE d WHEN 6 THEN o END),
        @o7 = MAX(CASE d WHEN 7 THEN o END), @o8 = MAX(CASE d WHEN 8 THEN o END),
        @o9 = MAX(CASE d WHEN 9 THEN o END), @o10 = MAX(CASE d WHEN 10 THEN o END)
    FROM (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)) AS district (d)
    CROSS APPLY (
        SELECT TOP (1) no_o_id AS o FROM dbo.new_order
        WHERE no_w_id = @w AND no_d_id = district.d ORDER BY no_o_id) AS undelivered
    OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

    DELETE n
    FROM (VALUES
            (1, @o1), (2, @o2), (3, @o3), (4, @o4), (5, @o5),
            (6, @o6), (7, @o7), (8, @o8), (9, @o9), (10, @o10)
        ) AS oldest (d, o)
    JOIN dbo.new_order AS n ON n.no_w_id = @w AND n.no_d_id = oldest.d AND n.no_o_id = oldest.o
    OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

    UPDATE h SET o_carrier_id = @carrier
    FROM (VALUES
            (1, @o1), (2, @o2), (3, @o3), (4, @o4), (5, @o5),
            (6, @o6), (7, @o7), (8, @o8), (9, @o9), (10, @o10)
        ) AS oldest (d, o)
    JOIN dbo.orders AS h ON h.o_w_id = @w AND h.o_d_id = oldest.d AND h.o_id = oldest.o
    OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

    UPDATE l SET ol_delivery_d = SYSUTCDATETIME()
    FROM (VALUES
            (1, @o1), (2, @o2), (3, @o3), (4, @o4), (5, @o5),
            (6, @o6), (7, @o7), (8, @o8), (9, @o9), (10, @o10)
        ) AS oldest (d, o)
    JOIN dbo.order_line AS l ON l.ol_w_id = @w AND l.ol_d_id = oldest.d AND l.ol_o_id = oldest.o
    OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

    UPDATE c SET c_balance = c_balance + owed.amount, c_delivery_cnt = c_delivery_cnt + 1
    FROM (VALUES
            (1, @o1), (2, @o2), (3, @o3), (4, @o4), (5, @o5),
            (6, @o6), (7, @o7), (8, @o8), (9, @o9), (10, @o10)
        ) AS oldest (d, o)
    JOIN dbo.orders AS h ON h.o_w_id = @w AND h.o_d_id = oldest.d AND h.o_id = oldest.o
    CROSS APPLY (
        SELECT COALESCE(SUM(ol_amount), 0) AS amount FROM dbo.order_line
        WHERE ol_w_id = @w AND ol_d_id = oldest.d AND ol_o_id = oldest.o) AS owed
    JOIN dbo.customer AS c ON c.c_w_id = @w AND c.c_d_id = oldest.d AND c.c_id = h.o_c_id
    OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
    SET @delivered = @@ROWCOUNT;
    COMMIT TRANSACTION;
    SELECT @delivered AS delivered;
END
GO
DROP PROCEDURE IF EXISTS kneebench.stock_level;
GO
-- 2.8: how many items of the district's last 20 orders are short in stock.
CREATE PROCEDURE kneebench.stock_level @w int, @d smallint, @threshold smallint
AS
BEGIN
    SET NOCOUNT ON;
    SELECT COUNT(DISTINCT ol_i_id) AS short
    FROM dbo.district
    JOIN dbo.order_line ON ol_w_id = @w AND ol_d_id = @d AND ol_o_id < d_next_o_id
        AND ol_o_id >= d_next_o_id - 20
    JOIN dbo.stock ON s_i_id = ol_i_id AND s_w_id = @w
    WHERE d_w_id = @w AND d_id = @d AND s_quantity < @threshold
    OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);
END
GO
