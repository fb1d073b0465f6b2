// Turns any value of a page into JSON text of bounded length. It is the source of functions, since they run in the page.

/**
 * `(text, maxChars) => text`: at most that many characters of it. Made of nothing but the language, since a page may have put
 * functions of its own in place of `String`, `JSON` or `slice`.
 */
export const BOUNDED_TEXT = `((text, maxChars) => {
  const whole = '' + text;
  if (whole.length <= maxChars) return whole;
  let part = '';
  for (let at = 0; at < maxChars; at++) part += whole[at];
  return part;
})`;

/** `(value, maxChars) => text`: JSON where JSON can say it, marks in strings where it cannot. */
export const RESULT_TEXT = `((value, maxChars) => {
  const MAX_HTML_CHARS = 500;
  let budget = maxChars;
  const isA = (given, name) => typeof globalThis[name] === 'function' && given instanceof globalThis[name];
  const plain = (given, above) => {
    if (budget-- <= 0) return '[...]';
    if (typeof given === 'string') return given.slice(0, maxChars + 1);
    if (typeof given === 'bigint') return given + 'n';
    if (typeof given === 'function') return '[function ' + given.name + ']';
    if (typeof given === 'symbol') return String(given);
    if (typeof given === 'number' && !Number.isFinite(given)) return String(given);
    if (given === null || typeof given !== 'object') return given;
    if (isA(given, 'Node')) return String(given.outerHTML ?? given.nodeValue ?? given.nodeName).slice(0, MAX_HTML_CHARS);
    if (given === globalThis || given.window === given) return '[window]';
    if (above.includes(given)) return '[circular]';
    const inside = [...above, given];
    if (given instanceof Error) return { name: given.name, message: given.message };
    const isList = Array.isArray(given) || isA(given, 'NodeList') || isA(given, 'HTMLCollection')
      || (ArrayBuffer.isView(given) && !(given instanceof DataView));
    const list = given instanceof Map || given instanceof Set ? [...given] : given;
    if (isList || list !== given) return Array.from(Array.prototype.slice.call(list, 0, budget), (each) => plain(each, inside));
    if (typeof given.toJSON === 'function') return plain(given.toJSON(), inside);
    return Object.fromEntries(Object.keys(given).slice(0, budget).map((key) => [key, plain(given[key], inside)]));
  };
  if (value === undefined) return 'undefined';
  let text;
  try {
    text = JSON.stringify(plain(value, [])) ?? 'undefined';
  } catch (error) {
    text = JSON.stringify('[no JSON: ' + error + ']');
  }
  const part = ${BOUNDED_TEXT}(text, maxChars);
  return part.length === text.length ? part : part + '... (cut at ' + maxChars + ' characters)';
})`;
