// Whether 32 bytes are a public key of Ed25519 (RFC 8032, section 5.1.3) under which a signature proves something. Whoever
// verifies finds out of most bytes only that no signature ever fits; and under some, zeros among them, anybody can sign.

const P = 2n ** 255n - 19n;
/** Of the curve. */
const D = mod(-121_665n * inverse(121_666n));
const SIGN_BIT = 2n ** 255n;

/** What is wrong with a key of 64 hex digits, or undefined. */
export function ed25519KeyFault(hex: string): string | undefined {
  const whole = BigInt(`0x${Buffer.from(hex, 'hex').reverse().toString('hex')}`);
  const y = whole % SIGN_BIT;
  const isNegative = whole >= SIGN_BIT;
  const x2 = y < P ? squareOfX(y) : undefined;
  if (x2 === undefined || (x2 === 0n && isNegative)) return 'is no public key of Ed25519';
  return isOfSmallOrder(y) ? 'is a key under which anybody can sign' : undefined;
}

/** Undefined where no point of the curve has that y. */
function squareOfX(y: bigint): bigint | undefined {
  const x2 = mod((y * y - 1n) * inverse(D * y * y + 1n));
  return power(x2, (P - 1n) / 2n) <= 1n ? x2 : undefined;
}

/** Doubled three times it is the neutral point. */
function isOfSmallOrder(y: bigint): boolean {
  let doubled = y;
  for (let i = 0; i < 3; i += 1) {
    const x2 = squareOfX(doubled) ?? 0n;
    const y2 = doubled * doubled;
    doubled = mod((y2 + x2) * inverse(2n + x2 - y2));
  }
  return doubled === 1n;
}

function mod(value: bigint): bigint {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}

function inverse(value: bigint): bigint {
  return power(mod(value), P - 2n);
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = mod(base);
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = mod(result * square);
    square = mod(square * square);
  }
  return result;
}
