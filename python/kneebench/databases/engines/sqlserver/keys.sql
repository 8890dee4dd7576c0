-- Keys and indexes, under HammerDB's names and on its columns; made after the rows are there. One
-- statement each.
--
-- A primary key is clustered: the table is sorted into it. Fill factors leave room where rows grow
-- (the data of a customer) or where many sessions want rows of one page (warehouse, district, the
-- same figure as on PostgreSQL). Babelfish has no clustered indexes and ignores both words.

ALTER TABLE dbo.order_line ADD CONSTRAINT order_line_i1 PRIMARY KEY CLUSTERED (ol_w_id, ol_d_id,
    ol_o_id, ol_number);
ALTER TABLE dbo.stock ADD CONSTRAINT stock_i1 PRIMARY KEY CLUSTERED (s_i_id, s_w_id);
ALTER TABLE dbo.customer ADD CONSTRAINT customer_i1 PRIMARY KEY CLUSTERED (c_w_id, c_d_id, c_id)
    WITH (FILLFACTOR = 90);
CREATE UNIQUE INDEX customer_i2 ON dbo.customer (c_w_id, c_d_id, c_last, c_first, c_id);
ALTER TABLE dbo.orders ADD CONSTRAINT orders_i1 PRIMARY KEY CLUSTERED (o_w_id, o_d_id, o_id);
CREATE UNIQUE INDEX orders_i2 ON dbo.orders (o_w_id, o_d_id, o_c_id, o_id);
ALTER TABLE dbo.new_order ADD CONSTRAINT new_order_i1 PRIMARY KEY CLUSTERED (no_w_id, no_d_id,
    no_o_id);
ALTER TABLE dbo.item ADD CONSTRAINT item_i1 PRIMARY KEY CLUSTERED (i_id);
ALTER TABLE dbo.district ADD CONSTRAINT district_i1 PRIMARY KEY CLUSTERED (d_w_id, d_id)
    WITH (FILLFACTOR = 10);
ALTER TABLE dbo.warehouse ADD CONSTRAINT warehouse_i1 PRIMARY KEY CLUSTERED (w_id)
    WITH (FILLFACTOR = 10);
