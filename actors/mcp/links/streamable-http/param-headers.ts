// Sends tool arguments as HTTP headers: `x-mcp-header` in a tool's `inputSchema` names a header
// `Mcp-Param-<name>` for the value of an argument (2026-07-28, Streamable HTTP, "Custom Headers from Tool
// Parameters"). Also encodes any text as a header value. If a schema violates a rule, it yields no headers,
// and its tool must not be offered over HTTP.

const SENTINEL_START = '=?base64?';
const SENTINEL_END = '?=';

/** Visible ASCII, with spaces and tabs only inside, because they would be trimmed at the ends. */
const PLAIN = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;
/** Valid header name (RFC 9110 section 5.1). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/**
 * Types that may be sent as headers. The specification excludes `number`, which has no unique decimal form.
 */
const PRIMITIVES = new Set<unknown>(['string', 'integer', 'boolean']);

/** JSON Schema keywords whose value is data: an `x-mcp-header` inside is no annotation. */
const DATA = new Set(['const', 'enum', 'default', 'examples']);
/** Keywords whose value contains schemas under arbitrary names. */
const NAMED_SCHEMAS = new Set([
  'patternProperties',
  'dependentSchemas',
  'dependencies',
  '$defs',
  'definitions',
]);

interface Annotation {
  /** Header name in lower case. */
  readonly header: string;
  /** Property names that lead from the arguments to the value. */
  readonly path: readonly string[];
}

interface Findings {
  readonly annotations: readonly Annotation[];
  /** Reason why the whole schema is invalid. */
  readonly fault: string | undefined;
}

/**
 * Returns the text as a header value: unchanged if safe, otherwise in Base64 between the specified markers.
 */
export function encodeHeaderValue(text: string): string {
  const looksEncoded = text.startsWith(SENTINEL_START) && text.endsWith(SENTINEL_END);
  if (PLAIN.test(text) && !looksEncoded) return text;
  return `${SENTINEL_START}${Buffer.from(text, 'utf8').toString('base64')}${SENTINEL_END}`;
}

/** Returns true if calls of the tool need additional headers. */
export function hasAnnotations(inputSchema: unknown): boolean {
  return findingsIn(inputSchema).annotations.length > 0;
}

/** Returns the violated rule as a sentence for the log; undefined for a valid schema. */
export function annotationFault(inputSchema: unknown): string | undefined {
  return findingsIn(inputSchema).fault;
}

/** Returns true if an HTTP client must omit the tool from lists. */
export function hasInvalidAnnotations(inputSchema: unknown): boolean {
  return annotationFault(inputSchema) !== undefined;
}

/**
 * Returns the annotated headers with the values of their arguments, parsed; undefined for a missing argument.
 */
export function annotatedArguments(
  inputSchema: unknown,
  argumentsValue: unknown,
): { readonly header: string; readonly value: unknown }[] {
  return findingsIn(inputSchema).annotations.map(({ header, path }) => ({
    header,
    value: valueAt(argumentsValue, path),
  }));
}

/** Returns the `mcp-param-…` headers for these arguments; empty for an invalid schema. */
export function paramHeaders(inputSchema: unknown, argumentsValue: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { header, value } of annotatedArguments(inputSchema, argumentsValue)) {
    const text = textOfPrimitive(value);
    if (text !== undefined) headers[header] = encodeHeaderValue(text);
  }
  return headers;
}

function findingsIn(inputSchema: unknown): Findings {
  const annotations: Annotation[] = [];
  const usedHeaders = new Set<string>();
  const fault = visit(inputSchema, []);
  return fault === undefined ? { annotations, fault } : { annotations: [], fault };

  /**
   * Returns the first fault. `path` is undefined inside keywords other than `properties`, where annotations
   * are invalid.
   */
  function visit(schema: unknown, path: readonly string[] | undefined): string | undefined {
    if (typeof schema !== 'object' || schema === null) return undefined;
    if (!Array.isArray(schema) && Object.hasOwn(schema, 'x-mcp-header')) {
      const fault = recordAnnotation(schema, path);
      if (fault !== undefined) return fault;
    }
    for (const [keyword, value] of Object.entries(schema)) {
      if (DATA.has(keyword) || keyword === 'x-mcp-header') continue;
      const fault =
        keyword === 'properties'
          ? visitNamed(value, path)
          : NAMED_SCHEMAS.has(keyword)
            ? visitNamed(value)
            : visit(value, undefined);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  /** Visits schemas under property names. Without `path`, annotations inside are invalid. */
  function visitNamed(schemas: unknown, path?: readonly string[]): string | undefined {
    if (typeof schemas !== 'object' || schemas === null) return undefined;
    for (const [name, schema] of Object.entries(schemas)) {
      const fault = visit(schema, path === undefined ? undefined : [...path, name]);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  /** Records a valid annotation, or returns the fault. */
  function recordAnnotation(schema: object, path: readonly string[] | undefined): string | undefined {
    const { 'x-mcp-header': name, type }: { 'x-mcp-header'?: unknown; type?: unknown } = schema;
    if (path === undefined || path.length === 0)
      return 'an `x-mcp-header` is not reachable by `properties` alone';
    const subject = `the \`x-mcp-header\` of ${JSON.stringify(path.join('.'))}`;
    if (typeof name !== 'string' || !TOKEN.test(name)) return `${subject} is not a header name`;
    if (!PRIMITIVES.has(type)) return `${subject} is not on a string, an integer or a boolean`;
    const header = `mcp-param-${name.toLowerCase()}`;
    if (usedHeaders.has(header)) return `${subject} names the same header as another one`;
    usedHeaders.add(header);
    annotations.push({ header, path });
    return undefined;
  }
}

/** Returns the value at the path. Inherited members and array items do not count. */
function valueAt(root: unknown, path: readonly string[]): unknown {
  let value = root;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    value = Object.getOwnPropertyDescriptor(value, name)?.value;
  }
  return value;
}

/**
 * Returns the value as text; undefined for values that need no header: missing, null, objects, and integers
 * that are not safe.
 */
function textOfPrimitive(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}
