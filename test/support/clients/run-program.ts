import { execFile } from 'node:child_process'

/** Program with its arguments, folder, environment and standard input. */
export type Program = {
  readonly program: string
  readonly args: readonly string[]
  readonly folder: string
  readonly environment?: Readonly<Record<string, string>>
  readonly input?: string
}

const maxOutputBytes = 64 * 1024 * 1024

/** Run a program and return its output. Rejects with both outputs if the program fails. */
export const runProgram = ({ program, args, folder, environment = {}, input = '' }: Program): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = { cwd: folder, env: { ...process.env, ...environment }, maxBuffer: maxOutputBytes }
    const child = execFile(program, args, options, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(`${args.join(' ')}: ${error.message}\n${stdout}${stderr}`)),
    )
    child.stdin?.end(input)
  })
