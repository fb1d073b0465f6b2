// The page after this one, by the `Link` header (RFC 8288).

/** The address whose relation is `next`, as it is written: it may be of any host. */
export function nextLink(link: string | null | undefined): string | undefined {
  return /<([^<>]*)>\s*;[^,<]*\brel="?next"?/i.exec(link ?? '')?.[1];
}
