// Parameters of a tool that its server wants to see in HTTP headers: `x-mcp-header` in the tool's `inputSchema`
// names a header `Mcp-Param-<name>`, and the value stands in the arguments of the call. Also how any text becomes a
// header value. (MCP 2026-07-28, Streamable HTTP, "Custom Headers from Tool Parameters".)
//
// PM1  a value is legal header text whatever the argument was, and decodes to exactly that argument.
// PM2  no header comes from a schema that breaks a rule: its tool is not to be offered over HTTP at all.

const SENTINEL_START = '=?base64?';
const SENTINEL_END = '?=';

/** Visible ASCII, with spaces and tabs only inside, where no reader of the header strips them. */
const PLAIN = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;
/** RFC 9110 section 5.1. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** A `number` has no one decimal spelling, so the specification leaves it out. */
const PRIMITIVES = new Set<unknown>(['string', 'integer', 'boolean']);

/** Keywords of JSON Schema whose value is data: an `x-mcp-header` in it annotates nothing. */
const DATA = new Set(['const', 'enum', 'default', 'examples']);
/** Keywords whose members are schemas under free names, which may be `x-mcp-header` as well. */
const NAMED = new Set(['patternProperties', 'dependentSchemas', 'dependencies', '$defs', 'definitions']);

interface Annotation {
  /** In lower case, as the gateway spells header names. */
  readonly header: string;
  /** The chain of properties from the arguments to the value. */
  readonly path: readonly string[];
}

interface Findings {
  readonly annotations: readonly Annotation[];
  /** Why the schema as a whole is invalid. */
  readonly fault: string | undefined;
}

/** The text as an HTTP header value: as it is where that is safe, else in Base64 between the specified markers. */
export function encodeHeaderValue(text: string): string {
  const looksEncoded = text.startsWith(SENTINEL_START) && text.endsWith(SENTINEL_END);
  if (PLAIN.test(text) && !looksEncoded) return text;
  return `${SENTINEL_START}${Buffer.from(text, 'utf8').toString('base64')}${SENTINEL_END}`;
}

/** Whether calls of the tool need headers beyond the standard ones. */
export function hasAnnotations(inputSchema: unknown): boolean {
  return findingsIn(inputSchema).annotations.length > 0;
}

/** Which rule for `x-mcp-header` the schema breaks, as a sentence for the log; undefined when it breaks none. */
export function annotationFault(inputSchema: unknown): string | undefined {
  return findingsIn(inputSchema).fault;
}

/** Whether a client that speaks HTTP must leave the tool out of its lists. */
export function hasInvalidAnnotations(inputSchema: unknown): boolean {
  return annotationFault(inputSchema) !== undefined;
}

/** Every header the schema asks for, and the argument it repeats, undefined where there is none; both parsed. */
export function annotatedArguments(
  inputSchema: unknown,
  argumentsValue: unknown,
): { readonly header: string; readonly value: unknown }[] {
  return findingsIn(inputSchema).annotations.map(({ header, path }) => ({
    header,
    value: valueAt(argumentsValue, path),
  }));
}

/** The `mcp-param-…` headers for a call with these arguments (both parsed); none for an invalid schema. */
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
  const taken = new Set<string>();
  const fault = visit(inputSchema, []);
  return fault === undefined ? { annotations, fault } : { annotations: [], fault };

  /** `path` is undefined where other keywords than `properties` led here. Gives the first fault. */
  function visit(schema: unknown, path: readonly string[] | undefined): string | undefined {
    if (typeof schema !== 'object' || schema === null) return undefined;
    if (!Array.isArray(schema) && Object.hasOwn(schema, 'x-mcp-header')) {
      const fault = note(schema, path);
      if (fault !== undefined) return fault;
    }
    for (const [keyword, value] of Object.entries(schema)) {
      if (DATA.has(keyword) || keyword === 'x-mcp-header') continue;
      const fault =
        keyword === 'properties'
          ? visitNamed(value, path)
          : NAMED.has(keyword)
            ? visitNamed(value)
            : visit(value, undefined);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  function visitNamed(schemas: unknown, path?: readonly string[]): string | undefined {
    if (typeof schemas !== 'object' || schemas === null) return undefined;
    for (const [name, schema] of Object.entries(schemas)) {
      const fault = visit(schema, path === undefined ? undefined : [...path, name]);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  function note(schema: object, path: readonly string[] | undefined): string | undefined {
    const { 'x-mcp-header': name, type }: { 'x-mcp-header'?: unknown; type?: unknown } = schema;
    if (path === undefined || path.length === 0)
      return 'an `x-mcp-header` stands where `properties` alone do not lead';
    const where = `the \`x-mcp-header\` of ${JSON.stringify(path.join('.'))}`;
    if (typeof name !== 'string' || !TOKEN.test(name)) return `${where} is no name of a header`;
    if (!PRIMITIVES.has(type)) return `${where} is on something else than a string, an integer or a boolean`;
    const header = `mcp-param-${name.toLowerCase()}`;
    if (taken.has(header)) return `${where} names a header that another one names already`;
    taken.add(header);
    annotations.push({ header, path });
    return undefined;
  }
}

/** What an object chain holds at the path; inherited members and items of arrays are nothing of a JSON object. */
function valueAt(root: unknown, path: readonly string[]): unknown {
  let value = root;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    value = Object.getOwnPropertyDescriptor(value, name)?.value;
  }
  return value;
}

/** Undefined for what has no header: nothing, null, objects, and integers whose digits were lost in parsing. */
function textOfPrimitive(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}
