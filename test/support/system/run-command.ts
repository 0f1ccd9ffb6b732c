import { runCommandLine } from '../../../services/command-line/run.ts'
import { commandSubjects } from '../../../services/commands.ts'

/** Run a command of the command line, and return its exit code and output. `ask` answers its questions. */
export const runCommand = async (
  args: readonly string[],
  variables: Readonly<Record<string, string>>,
  ask?: (question: string) => Promise<string>,
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> => {
  let out = ''
  let err = ''
  const terminal = {
    out: (text: string) => {
      out += text
    },
    err: (text: string) => {
      err += text
    },
    ...(ask === undefined ? {} : { ask }),
  }
  const code = await runCommandLine(commandSubjects, args, variables, terminal)
  return { code, out, err }
}
