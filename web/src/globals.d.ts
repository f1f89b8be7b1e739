declare const MATH_CSS: string;
