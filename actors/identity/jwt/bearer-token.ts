// A JSON Web Token in a request (RFC 6750, section 2.1): in the Authorization header, and never in a query string, which logs
// and histories keep.

/** Three parts, of which the third may be missing; what is wrong with them the verifier says. */
const BEARER = /^Bearer +([\w-]+\.[\w-]+\.[\w-]*)$/i;

/** Undefined where there is nothing that looks like one. */
export function bearerToken({
  authorization = '',
}: Readonly<Record<string, string | undefined>>): string | undefined {
  return BEARER.exec(authorization)?.[1];
}
