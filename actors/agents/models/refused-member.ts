// Finds the member in a model request that the provider refuses, in `param` or the message of its error.

/** A refused tool: its index in the request, or its name. */
const toolIndex = [/\bfunction_?declarations[.[](\d{1,4})\b/i, /\btools[.[](\d{1,4})\b/];
const toolName = /\b(?:function|tool) ['"`]([^'"`]{1,128})['"`]/;

/** Returns the name of the refused tool, if the request contained it. */
export function refusedTool(text: string, tools: readonly string[]): string | undefined {
  const name = toolName.exec(text)?.[1];
  if (name !== undefined && tools.includes(name)) return name;
  const index = toolIndex.map((pattern) => pattern.exec(text)?.[1]).find((found) => found !== undefined);
  return index === undefined ? undefined : tools[Number(index)];
}

/** Names of members in all protocols. Any other name is from a tool or a conversation. */
const protocolNames: ReadonlySet<string> = new Set(
  `tools function functions custom function_declarations functionDeclarations parameters input_schema inputSchema
   messages input contents content parts system temperature max_tokens tool_choice response_format
   generation_config generationConfig type format enum const items properties required pattern description name
   any_of anyOf one_of oneOf all_of allOf`.split(/\s+/),
);
const path = /^[\s*]*(?:GenerateContentRequest\.)?([a-zA-Z_]\w*(?:[.[]\w+\]?)*)/;

/** Returns the path of the refused member, until its first name that is not part of the protocol. */
export function refusedField(text: string): string | undefined {
  const names: string[] = [];
  for (const [, mark = '', name = ''] of (path.exec(text.slice(0, 500))?.[1] ?? '').matchAll(
    /(^|[.[])(\w+)/g,
  )) {
    if (!protocolNames.has(name) && !/^\d{1,4}$/.test(name)) break;
    names.push(mark === '[' ? `[${name}]` : `${mark}${name}`);
  }
  return names.length > 1 || protocolNames.has(text) ? names.join('') : undefined;
}
