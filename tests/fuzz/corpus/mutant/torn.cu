R"x( \
#a
 ((([[[{{{<<<>>> template<<<< int f(){for(;;){if(a<b>>c){}else;x?y:z;asm("