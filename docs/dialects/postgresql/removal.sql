DROP FUNCTION kneebench_new_order(int, int, int, int, int, text);
DROP FUNCTION kneebench_payment(int, int, int, int, int, text, int);
DROP FUNCTION kneebench_customer(int, int, int, text);
DROP FUNCTION kneebench_order_status(int, int, int, text);
DROP FUNCTION kneebench_delivery(int, int);
DROP FUNCTION kneebench_stock_level(int, int, int);
