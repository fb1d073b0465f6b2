// Single HTTP requests, for measures that compare responses byte by byte.

/** Returns the response text. A long response may be an event stream: returns the data of the last event. */
export async function postForText(url, headers, body) {
  const allHeaders = { 'Content-Type': 'application/json', ...headers };
  const response = await fetch(url, { method: 'POST', headers: allHeaders, body });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: status ${response.status}: ${text.slice(0, 500)}`);
  if (response.headers.get('content-type') === 'application/json') return text;
  return text.slice(text.lastIndexOf('\ndata: ') + 7).trimEnd();
}
