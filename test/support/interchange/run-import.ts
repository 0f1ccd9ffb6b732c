import type { ImportReport } from '../../../services/interchange/commands/import/import-report.ts'
import type { Sandbox } from '../../../services/platform/access/sandbox-file.ts'
import { makeTestFolder } from '../stores/postgres.ts'
import { runCommand } from '../system/run-command.ts'

/** Import a file with the test key of an account. Returns the exit code, the report and standard error. */
export const runImport = async (
  sandbox: Pick<Sandbox, 'base_url' | 'test_key'>,
  kind: string,
  args: readonly string[],
): Promise<{ readonly code: number; readonly report: ImportReport; readonly err: string }> => {
  const { code, out, err } = await runCommand(['import', kind, ...args, '--base-url', sandbox.base_url, '--json'], {
    WATTLEDGER_API_KEY: sandbox.test_key,
    WATTLEDGER_DATA_DIR: makeTestFolder(),
  })
  if (out === '') throw new Error(`The import ended with ${code}: ${err}`)
  return { code, report: JSON.parse(out), err }
}
