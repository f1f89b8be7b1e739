// judge: int4-gemv
void f()
{
	int x = 1; // größer 大[31m
}
