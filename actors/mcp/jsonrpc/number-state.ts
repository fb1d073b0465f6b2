// A state machine for JSON numbers (RFC 8259, section 6), byte by byte, so the text may be split anywhere.

import { isDigit } from './json-scanner.ts';

const DASH = 0x2d;
const LOWER_E = 0x65;
const UPPER_E = 0x45;
const DIGIT_0 = 0x30;
const DOT = 0x2e;
const PLUS = 0x2b;

// States, named after the byte that was read last. The numbers follow the states in push-scanner.ts.
export const MINUS = 16;
const ZERO = 17;
export const WHOLE = 18;
const POINT = 19;
export const FRACTION = 20;
const EXPONENT = 21;
const EXPONENT_SIGN = 22;
const EXPONENT_DIGITS = 23;

/** Results of `nextNumberState` if the byte is not part of the number: the number is complete, or invalid. */
export const NUMBER_ENDS = -2;
export const NO_NUMBER = -1;

/** Returns the state for the first byte; NO_NUMBER if it cannot start a number. */
export function firstNumberState(byte: number): number {
  return byte === DASH ? MINUS : nextNumberState(MINUS, byte);
}

/** Returns the state for the next byte. */
export function nextNumberState(state: number, byte: number): number {
  const hasDigit = isDigit(byte);
  const isExponent = byte === LOWER_E || byte === UPPER_E;
  switch (state) {
    case MINUS:
      if (!hasDigit) return NO_NUMBER;
      return byte === DIGIT_0 ? ZERO : WHOLE;
    case ZERO:
    case WHOLE:
      if (hasDigit) return state === WHOLE ? WHOLE : NO_NUMBER;
      if (byte === DOT) return POINT;
      return isExponent ? EXPONENT : NUMBER_ENDS;
    case POINT:
      return hasDigit ? FRACTION : NO_NUMBER;
    case FRACTION:
      if (hasDigit) return FRACTION;
      return isExponent ? EXPONENT : NUMBER_ENDS;
    case EXPONENT:
      if (byte === PLUS || byte === DASH) return EXPONENT_SIGN;
      return hasDigit ? EXPONENT_DIGITS : NO_NUMBER;
    case EXPONENT_SIGN:
      return hasDigit ? EXPONENT_DIGITS : NO_NUMBER;
    default:
      return hasDigit ? EXPONENT_DIGITS : NUMBER_ENDS;
  }
}

/** Returns true if a number may end in this state. */
export function isWholeNumber(state: number): boolean {
  return state === ZERO || state === WHOLE || state === FRACTION || state === EXPONENT_DIGITS;
}
