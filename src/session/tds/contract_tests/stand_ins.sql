CREATE SCHEMA kneebench
GO
CREATE TABLE dbo.victim (spid int NOT NULL)
GO
CREATE TABLE dbo.digits (digit int NOT NULL)
GO
INSERT INTO dbo.digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)
GO
CREATE TABLE dbo.rows_in_turn (id int NOT NULL PRIMARY KEY, n int NOT NULL)
GO
INSERT INTO dbo.rows_in_turn VALUES (1, 0), (2, 0)
GO
CREATE PROCEDURE kneebench.new_order @w int, @d smallint, @c int, @lines smallint,
    @i1 int, @s1 int, @q1 smallint, @i2 int, @s2 int, @q2 smallint, @i3 int, @s3 int, @q3 smallint,
    @i4 int, @s4 int, @q4 smallint, @i5 int, @s5 int, @q5 smallint, @i6 int = NULL
AS
BEGIN
    SET NOCOUNT ON;
    BEGIN TRANSACTION;
    UPDATE dbo.rows_in_turn SET n = @q1 WHERE id = @w;
    IF @i5 = 100001
    BEGIN
        ROLLBACK TRANSACTION;
        THROW 50404, 'item number is not valid', 1;
    END;
    SELECT @q1 * 1.25 AS total;
    COMMIT TRANSACTION;
END
GO
CREATE PROCEDURE kneebench.payment @w int, @d smallint, @c_w int, @c_d smallint, @c int,
    @c_last varchar(16), @amount_cents int
AS
BEGIN
    SET NOCOUNT ON;
    SELECT @c AS customer;
END
GO
CREATE PROCEDURE kneebench.order_status @w int, @d smallint, @c int, @c_last varchar(16)
AS
BEGIN
    SET NOCOUNT ON;
    SELECT @c AS customer, CAST(NULL AS smallint) AS carrier, @c_last AS last,
        CAST(1.5 AS decimal(12, 2)) AS balance, CAST('2026-01-01' AS datetime2(6)) AS entry_d,
        CAST('OE' AS char(2)) AS middle, id FROM dbo.rows_in_turn;
END
GO
CREATE PROCEDURE kneebench.delivery @w int, @carrier smallint
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @i int = 0;
    IF @carrier = 40
    BEGIN
        BEGIN TRANSACTION;
        UPDATE dbo.rows_in_turn SET n = n + 1 WHERE id = @w;
        SELECT @i = COUNT(*) FROM dbo.digits a, dbo.digits b, dbo.digits c, dbo.digits d,
            dbo.digits e, dbo.digits f, dbo.digits g;
        UPDATE dbo.rows_in_turn SET n = n + 1 WHERE id = 3 - @w;
        COMMIT TRANSACTION;
    END;
    IF @carrier = 57
    BEGIN
        BEGIN TRANSACTION;
        INSERT INTO dbo.victim VALUES (@@SPID);
        COMMIT TRANSACTION;
        SELECT @i = COUNT(*) FROM dbo.digits a, dbo.digits b, dbo.digits c, dbo.digits d,
            dbo.digits e, dbo.digits f, dbo.digits g, dbo.digits h, dbo.digits i, dbo.digits j;
    END;
    SELECT 10 / (@carrier - 22) AS delivered;
END
GO
CREATE PROCEDURE kneebench.stock_level @w int, @d smallint, @threshold smallint
AS
BEGIN
    SET NOCOUNT ON;
    SELECT @threshold AS short;
END
GO
