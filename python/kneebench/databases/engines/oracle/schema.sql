-- The nine tables, each with its columns in kneebench's order. DATE has hours, minutes and seconds.
CREATE TABLE warehouse (w_id NUMBER(6) NOT NULL, w_name VARCHAR2(10), w_street_1 VARCHAR2(20),
    w_street_2 VARCHAR2(20), w_city VARCHAR2(20), w_state CHAR(2), w_zip CHAR(9),
    w_tax NUMBER(4,4), w_ytd NUMBER(16,2)) PCTFREE 99 PCTUSED 1 INITRANS 4;
CREATE TABLE district (d_w_id NUMBER(6) NOT NULL, d_next_o_id NUMBER(8), d_id NUMBER(2) NOT NULL,
    d_ytd NUMBER(12,2), d_tax NUMBER(4,4), d_name VARCHAR2(10), d_street_1 VARCHAR2(20),
    d_street_2 VARCHAR2(20), d_city VARCHAR2(20), d_state CHAR(2), d_zip CHAR(9))
    PCTFREE 99 PCTUSED 1 INITRANS 4;
CREATE TABLE customer (c_since DATE, c_id NUMBER(5) NOT NULL, c_w_id NUMBER(6) NOT NULL,
    c_d_id NUMBER(2) NOT NULL, c_payment_cnt NUMBER(8), c_delivery_cnt NUMBER(8),
    c_first VARCHAR2(16), c_middle CHAR(2), c_last VARCHAR2(16), c_street_1 VARCHAR2(20),
    c_street_2 VARCHAR2(20), c_city VARCHAR2(20), c_state CHAR(2), c_zip CHAR(9),
    c_phone CHAR(16), c_credit CHAR(2), c_credit_lim NUMBER(12,2), c_discount NUMBER(4,4),
    c_balance NUMBER(12,2), c_ytd_payment NUMBER(12,2), c_data VARCHAR2(500)) INITRANS 4;
CREATE TABLE history (h_date DATE, h_c_id NUMBER(5), h_c_w_id NUMBER(6), h_w_id NUMBER(6),
    h_c_d_id NUMBER(2), h_d_id NUMBER(2), h_amount NUMBER(6,2), h_data VARCHAR2(24)) INITRANS 4;
CREATE TABLE item (i_id NUMBER(6) NOT NULL, i_im_id NUMBER(6), i_name VARCHAR2(24),
    i_price NUMBER(5,2), i_data VARCHAR2(50)) PCTFREE 0;
CREATE TABLE stock (s_i_id NUMBER(6) NOT NULL, s_w_id NUMBER(6) NOT NULL, s_ytd NUMBER(8),
    s_quantity NUMBER(6), s_order_cnt NUMBER(8), s_remote_cnt NUMBER(8), s_dist_01 CHAR(24),
    s_dist_02 CHAR(24), s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24),
    s_dist_06 CHAR(24), s_dist_07 CHAR(24), s_dist_08 CHAR(24), s_dist_09 CHAR(24),
    s_dist_10 CHAR(24), s_data VARCHAR2(50)) INITRANS 4;
CREATE TABLE new_order (no_w_id NUMBER(6) NOT NULL, no_o_id NUMBER(8) NOT NULL,
    no_d_id NUMBER(2) NOT NULL) INITRANS 4;
CREATE TABLE orders (o_entry_d DATE, o_id NUMBER(8) NOT NULL, o_w_id NUMBER(6) NOT NULL,
    o_c_id NUMBER(5), o_d_id NUMBER(2) NOT NULL, o_carrier_id NUMBER(2), o_ol_cnt NUMBER(2),
    o_all_local NUMBER(1)) INITRANS 4;
CREATE TABLE order_line (ol_delivery_d DATE, ol_o_id NUMBER(8) NOT NULL, ol_w_id NUMBER(6) NOT NULL,
    ol_i_id NUMBER(6), ol_supply_w_id NUMBER(6), ol_d_id NUMBER(2) NOT NULL,
    ol_number NUMBER(2) NOT NULL, ol_quantity NUMBER(2), ol_amount NUMBER(6,2),
    ol_dist_info CHAR(24)) INITRANS 4;
