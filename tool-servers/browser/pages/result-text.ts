// Source text of functions that run in the page: they convert any value to JSON text with limited length.

/**
 * `(text, maxChars) => text`: truncates text. Uses only language operators, because a page may have replaced
 * `String`, `JSON` or `slice`.
 */
export const BOUNDED_TEXT = `((text, maxChars) => {
  const fullText = '' + text;
  if (fullText.length <= maxChars) return fullText;
  let part = '';
  for (let at = 0; at < maxChars; at++) part += fullText[at];
  return part;
})`;

/** `(value, maxChars) => text`: JSON, with marker strings for values that JSON cannot represent. */
export const RESULT_TEXT = `((value, maxChars) => {
  const MAX_HTML_CHARS = 500;
  let budget = maxChars;
  const isA = (item, name) => typeof globalThis[name] === 'function' && item instanceof globalThis[name];
  const plain = (item, ancestors) => {
    if (budget-- <= 0) return '[...]';
    if (typeof item === 'string') return item.slice(0, maxChars + 1);
    if (typeof item === 'bigint') return item + 'n';
    if (typeof item === 'function') return '[function ' + item.name + ']';
    if (typeof item === 'symbol') return String(item);
    if (typeof item === 'number' && !Number.isFinite(item)) return String(item);
    if (item === null || typeof item !== 'object') return item;
    if (isA(item, 'Node')) return String(item.outerHTML ?? item.nodeValue ?? item.nodeName).slice(0, MAX_HTML_CHARS);
    if (item === globalThis || item.window === item) return '[window]';
    if (ancestors.includes(item)) return '[circular]';
    const path = [...ancestors, item];
    if (item instanceof Error) return { name: item.name, message: item.message };
    const isList = Array.isArray(item) || isA(item, 'NodeList') || isA(item, 'HTMLCollection')
      || (ArrayBuffer.isView(item) && !(item instanceof DataView));
    const list = item instanceof Map || item instanceof Set ? [...item] : item;
    if (isList || list !== item) return Array.from(Array.prototype.slice.call(list, 0, budget), (each) => plain(each, path));
    if (typeof item.toJSON === 'function') return plain(item.toJSON(), path);
    return Object.fromEntries(Object.keys(item).slice(0, budget).map((key) => [key, plain(item[key], path)]));
  };
  if (value === undefined) return 'undefined';
  let text;
  try {
    text = JSON.stringify(plain(value, [])) ?? 'undefined';
  } catch (error) {
    text = JSON.stringify('[no JSON: ' + error + ']');
  }
  const part = ${BOUNDED_TEXT}(text, maxChars);
  return part.length === text.length ? part : part + '... (truncated at ' + maxChars + ' characters)';
})`;
