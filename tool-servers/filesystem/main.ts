// The filesystem server: `filesystem <allowed folder>…`. All it does on disk goes through the confinement.

import { homedir } from 'node:os';
import { Command } from 'commander';
import { CallGate } from '../call-gate.ts';
import { runProgram, type ToolService } from '../program.ts';
import { inLine } from './call-deadline.ts';
import { openConfinement } from './confinement/open-confinement.ts';
import { CONCURRENT_CALLS, OPEN_CALLS } from './limits.ts';
import { editTool } from './tools/edit-tool.ts';
import { listTools } from './tools/list-tools.ts';
import { readTools } from './tools/read-tools.ts';
import { FileResources, resourceCapabilities } from './tools/resources.ts';
import { searchTool } from './tools/search-tool.ts';
import { treeTool } from './tools/tree-tool.ts';
import { writeTools } from './tools/write-tools.ts';

const command = new Command('filesystem')
  .description('Serves the files of some folders over MCP on stdin and stdout, and nothing outside of them.')
  .argument('<folder...>', 'folders that may be used, with everything below them')
  .option('--read-only', 'offer no tool that changes anything', false);

async function start(command: Command): Promise<ToolService> {
  const { readOnly } = command.opts<{ readOnly: boolean }>();
  // Configuration files have no shell that would do it.
  const given = command.args.map((folder) => folder.replace(/^~(?=\/|$)/, () => homedir()));
  const confinement = await openConfinement(given);
  const readers = new CallGate(CONCURRENT_CALLS);
  // In the order of their calls: a model that sends several at once means that order.
  const writers = new CallGate(1);
  const reading = [
    ...readTools(confinement),
    ...listTools(confinement, readOnly),
    treeTool(confinement),
    searchTool(confinement),
  ];
  const writing = readOnly ? [] : [...writeTools(confinement), editTool(confinement)];
  const resources = new FileResources(confinement, readers);
  return {
    instructions: instructionsOf(confinement.folders, readOnly),
    tools: [...reading.map((tool) => inLine(tool, readers)), ...writing.map((tool) => inLine(tool, writers))],
    concurrency: OPEN_CALLS,
    capabilities: resourceCapabilities,
    offer: (server) => resources.offer(server),
    close: async () => {
      resources.close();
      await confinement.close();
    },
  };
}

function instructionsOf(folders: readonly string[], isReadOnly: boolean): string {
  const what = isReadOnly ? 'Reads files' : 'Reads and writes files';
  return `${what} in these directories and below them, and nowhere else: ${folders.join(', ')}. Relative paths begin in the first one. Look before you read: directory_tree and search_files leave out what excludePatterns name, and read_file takes head, tail or a range of bytes of a large file.${isReadOnly ? '' : ' To change part of a file use edit_file; write_file replaces the whole of it.'}`;
}

await runProgram({ title: 'Filesystem', command, start });
