import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import type { Sandbox } from '../../services/platform/access/sandbox-file.ts'

const program = new URL('demo.ts', import.meta.url).pathname

/** Environment without the settings of this test run, which the service does not know. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('WATTLEDGER_')))

/** Run the demo as a process. Returns its output and exit code. */
export const runDemo = async (...args: readonly string[]) => {
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>(resolve => child.once('exit', code => resolve(code)))
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { output, errors, code }
}

/** Arguments that select an account of a running system. */
export const targetArgs = ({ base_url, account_id, test_key }: Sandbox): readonly string[] => [
  ...['--base-url', base_url],
  ...['--account', account_id],
  ...['--key', test_key],
]

/** Fill an account with the smallest fleet. Throws with the output if the demo fails. */
export const fillWithDemo = async (sandbox: Sandbox, days: number): Promise<void> => {
  const { output, errors, code } = await runDemo('--locations', '7', '--days', String(days), ...targetArgs(sandbox))
  if (code !== 0) throw new Error(`The demo ended with ${code}:\n${output}${errors}`)
}
