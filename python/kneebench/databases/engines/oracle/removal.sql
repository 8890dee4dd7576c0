DROP PROCEDURE kneebench_new_order;
DROP PROCEDURE kneebench_payment;
DROP PROCEDURE kneebench_order_status;
DROP PROCEDURE kneebench_delivery;
DROP PROCEDURE kneebench_stock_level;
DROP PROCEDURE kneebench_refuse;
DROP FUNCTION kneebench_customer;
