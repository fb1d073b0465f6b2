// Tells whether a resource uri belongs to a template. Each `{…}` stands for any text, the rest must be there in
// order. No regular expression is made from the template, because it comes from a server and may be hostile.

export function matchesTemplate(template: string, uri: string): boolean {
  const literals = template.split(/\{[^{}]*\}/);
  const first = literals[0] ?? '';
  if (literals.length === 1) return template === uri;
  const last = literals[literals.length - 1] ?? '';
  if (!uri.startsWith(first) || uri.length < first.length + last.length || !uri.endsWith(last)) return false;
  let at = first.length;
  const stop = uri.length - last.length;
  for (const literal of literals.slice(1, -1)) {
    const found = uri.indexOf(literal, at);
    if (found < 0 || found + literal.length > stop) return false;
    at = found + literal.length;
  }
  return true;
}
