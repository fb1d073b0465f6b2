// Tests if a uri matches a resource template. Each `{…}` matches any text; the rest must occur in order.
// Templates are not converted to regular expressions: a hostile template could block the process.

export function matchesTemplate(template: string, uri: string): boolean {
  const literals = template.split(/\{[^{}]*\}/);
  const first = literals[0] ?? '';
  if (literals.length === 1) return template === uri;
  const last = literals[literals.length - 1] ?? '';
  if (!uri.startsWith(first) || uri.length < first.length + last.length || !uri.endsWith(last)) return false;
  let at = first.length;
  const stop = uri.length - last.length;
  for (const literal of literals.slice(1, -1)) {
    const position = uri.indexOf(literal, at);
    if (position < 0 || position + literal.length > stop) return false;
    at = position + literal.length;
  }
  return true;
}
