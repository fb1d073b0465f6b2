// Filesystem server: `filesystem <allowed folder>…`. Tools and resources access the disk through the
// confinement only.

import { homedir } from 'node:os';
import { Command } from 'commander';
import { CallGate } from '../call-gate.ts';
import { runProgram, type ToolService } from '../program.ts';
import { withDeadline } from './call-deadline.ts';
import { openConfinement } from './confinement/open-confinement.ts';
import { CONCURRENT_READS, OPEN_CALLS } from './limits.ts';
import { editTool } from './tools/edit-tool.ts';
import { listTools } from './tools/list-tools.ts';
import { readTools } from './tools/read-tools.ts';
import { FileResources, resourceCapabilities } from './tools/resources.ts';
import { searchTool } from './tools/search-tool.ts';
import { treeTool } from './tools/tree-tool.ts';
import { writeTools } from './tools/write-tools.ts';

const command = new Command('filesystem')
  .description('MCP server on stdio for the files of some folders. It cannot access anything outside them.')
  .argument('<folder...>', 'allowed folders, including their subfolders')
  .option('--read-only', 'offer read-only tools only', false);

async function start(command: Command): Promise<ToolService> {
  const { readOnly } = command.opts<{ readOnly: boolean }>();
  // In configuration files, no shell expands `~`.
  const folders = command.args.map((folder) => folder.replace(/^~(?=\/|$)/, () => homedir()));
  const confinement = await openConfinement(folders);
  const readers = new CallGate(CONCURRENT_READS);
  // Writes run in call order, because a model that sends several calls expects this order.
  const writers = new CallGate(1);
  const readOnlyTools = [
    ...readTools(confinement),
    ...listTools(confinement, readOnly),
    treeTool(confinement),
    searchTool(confinement),
  ];
  const writingTools = readOnly ? [] : [...writeTools(confinement), editTool(confinement)];
  const resources = new FileResources(confinement, readers);
  return {
    instructions: instructionsOf(confinement.folders, readOnly),
    tools: [
      ...readOnlyTools.map((tool) => withDeadline(tool, readers)),
      ...writingTools.map((tool) => withDeadline(tool, writers)),
    ],
    maxOpenCalls: OPEN_CALLS,
    capabilities: resourceCapabilities,
    register: (server) => resources.register(server),
    close: async () => {
      resources.close();
      await confinement.close();
    },
  };
}

function instructionsOf(folders: readonly string[], isReadOnly: boolean): string {
  const summary = isReadOnly ? 'Reads files' : 'Reads and writes files';
  return `${summary} in these directories and their subdirectories only: ${folders.join(', ')}. Relative paths start at the first one. Explore before you read: directory_tree and search_files skip excludePatterns, and read_file accepts head, tail or a byte range for large files.${isReadOnly ? '' : ' Use edit_file to change part of a file; write_file replaces the whole file.'}`;
}

await runProgram({ title: 'Filesystem', command, start });
