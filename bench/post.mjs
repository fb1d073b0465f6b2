// Single HTTP requests, for measures that compare responses byte by byte.

/** Posts a request, and returns the response: its text, or the data of the last event of an event stream. */
export async function postForText(url, headers, body) {
  const allHeaders = { 'Content-Type': 'application/json', ...headers };
  const response = await fetch(url, { method: 'POST', headers: allHeaders, body });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: status ${response.status}: ${text.slice(0, 500)}`);
  if (response.headers.get('content-type') === 'application/json') return text;
  return text.slice(text.lastIndexOf('\ndata: ') + '\ndata: '.length).trimEnd();
}
