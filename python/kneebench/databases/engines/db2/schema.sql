-- The nine tables, each with its columns in kneebench's order.
CREATE TABLE warehouse (w_id INTEGER NOT NULL, w_name VARCHAR(10), w_street_1 VARCHAR(20),
    w_street_2 VARCHAR(20), w_city VARCHAR(20), w_state CHAR(2), w_zip CHAR(9),
    w_tax DECIMAL(4,4), w_ytd DECIMAL(16,2));
CREATE TABLE district (d_w_id INTEGER NOT NULL, d_next_o_id INTEGER, d_id SMALLINT NOT NULL,
    d_ytd DECIMAL(12,2), d_tax DECIMAL(4,4), d_name VARCHAR(10), d_street_1 VARCHAR(20),
    d_street_2 VARCHAR(20), d_city VARCHAR(20), d_state CHAR(2), d_zip CHAR(9));
CREATE TABLE customer (c_since TIMESTAMP, c_id INTEGER NOT NULL, c_w_id INTEGER NOT NULL,
    c_d_id SMALLINT NOT NULL, c_payment_cnt INTEGER, c_delivery_cnt INTEGER, c_first VARCHAR(16),
    c_middle CHAR(2), c_last VARCHAR(16), c_street_1 VARCHAR(20), c_street_2 VARCHAR(20),
    c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9), c_phone CHAR(16), c_credit CHAR(2),
    c_credit_lim DECIMAL(12,2), c_discount DECIMAL(4,4), c_balance DECIMAL(12,2),
    c_ytd_payment DECIMAL(12,2), c_data VARCHAR(500));
CREATE TABLE history (h_date TIMESTAMP, h_c_id INTEGER, h_c_w_id INTEGER, h_w_id INTEGER,
    h_c_d_id SMALLINT, h_d_id SMALLINT, h_amount DECIMAL(6,2), h_data VARCHAR(24));
CREATE TABLE item (i_id INTEGER NOT NULL, i_im_id INTEGER, i_name VARCHAR(24),
    i_price DECIMAL(5,2), i_data VARCHAR(50));
CREATE TABLE stock (s_i_id INTEGER NOT NULL, s_w_id INTEGER NOT NULL, s_ytd INTEGER,
    s_quantity INTEGER, s_order_cnt INTEGER, s_remote_cnt INTEGER, s_dist_01 CHAR(24),
    s_dist_02 CHAR(24), s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24),
    s_dist_06 CHAR(24), s_dist_07 CHAR(24), s_dist_08 CHAR(24), s_dist_09 CHAR(24),
    s_dist_10 CHAR(24), s_data VARCHAR(50));
CREATE TABLE new_order (no_w_id INTEGER NOT NULL, no_o_id INTEGER NOT NULL,
    no_d_id SMALLINT NOT NULL);
CREATE TABLE orders (o_entry_d TIMESTAMP, o_id INTEGER NOT NULL, o_w_id INTEGER NOT NULL,
    o_c_id INTEGER, o_d_id SMALLINT NOT NULL, o_carrier_id SMALLINT, o_ol_cnt SMALLINT,
    o_all_local SMALLINT);
CREATE TABLE order_line (ol_delivery_d TIMESTAMP, ol_o_id INTEGER NOT NULL,
    ol_w_id INTEGER NOT NULL, ol_i_id INTEGER, ol_supply_w_id INTEGER, ol_d_id SMALLINT NOT NULL,
    ol_number SMALLINT NOT NULL, ol_quantity SMALLINT, ol_amount DECIMAL(6,2),
    ol_dist_info CHAR(24));
