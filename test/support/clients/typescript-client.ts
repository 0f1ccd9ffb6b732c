import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { copyFolder, ensureFolder } from '../kafka/artefacts.ts'
import type { ApiVersion } from '../system/client.ts'
import { node20First } from './node-20.ts'
import { onceInRun } from './once-in-run.ts'
import { runProgram } from './run-program.ts'

const folder = join(import.meta.dirname, '../../../clients/typescript')

/** Run a program of the folder of the client, and return its output. Rejects if the program fails. */
export const runInClient = (
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  { program = process.execPath, input = '' } = {},
): Promise<string> => runProgram({ program, args, folder, environment, input })

/** Return true if the packages of the lock file are installed. npm writes a lock file into the folder of the packages. */
const isInstalled = (): boolean => {
  const installed = join(folder, 'node_modules/.package-lock.json')
  if (!existsSync(installed)) return false
  const packagesOf = (path: string): string => {
    const { packages } = JSON.parse(readFileSync(path, 'utf8')) as { packages: Record<string, { version?: string }> }
    return Object.entries(packages)
      .flatMap(([name, { version }]) => (name === '' ? [] : [`${name} ${version}`]))
      .join()
  }
  return packagesOf(installed) === packagesOf(join(folder, 'package-lock.json'))
}

const packageFiles = ['package.json', 'package-lock.json', '.npmrc']

/** Install the locked packages, if the client does not have them. Each machine downloads them once for a lock file. */
const install = async (environment: { readonly PATH: string }): Promise<void> => {
  if (isInstalled()) return
  const hash = createHash('sha256')
  for (const name of packageFiles) hash.update(readFileSync(join(folder, name)))
  const installed = await ensureFolder(`typescript-client-${hash.digest('hex').slice(0, 16)}`, async created => {
    for (const name of packageFiles) copyFileSync(join(folder, name), join(created, name))
    await runProgram({ program: 'npm', args: ['ci'], folder: created, environment })
  })
  rmSync(join(folder, 'node_modules'), { recursive: true, force: true })
  copyFolder(join(installed, 'node_modules'), join(folder, 'node_modules'))
}

/** Install the packages of the TypeScript client, and build the client: once in a test run, on Node 20. */
export const buildTypescriptClient = (): Promise<void> =>
  onceInRun('typescript-client', async () => {
    const environment = await node20First()
    await install(environment)
    await runProgram({ program: 'npm', args: ['run', 'build'], folder, environment })
  })

/** Load the built client of an API version. */
export const loadClient = async (apiVersion: ApiVersion): Promise<ClientModule> =>
  await import(join(folder, 'dist', apiVersion === 'current' ? 'index.js' : 'earlier.js'))

type Batch = { readonly id: string; readonly records_processed: number }

type StoredRecord = {
  readonly data: { readonly record_reference_id: string }
  readonly energy_submitted: Decimal
}

type Decimal = { readonly text: string }

/** Client without the types of its methods: the program chooses the method by the name of an operation. */
export type AnyClient = {
  readonly [name: string]: (input: object) => Promise<{ readonly page?: () => Promise<unknown> }>
} & {
  readonly download: (name: string, accept: string, input: object) => Promise<ReadableStream>
  readonly submitRecords: (records: readonly object[]) => AsyncIterable<Batch>
  readonly waitForBatch: (id: string) => Promise<Batch>
  readonly customerList: (input: object) => AsyncIterable<{ readonly id: string }>
  readonly meterRecordList: (input: object) => AsyncIterable<StoredRecord>
}

type ErrorClass = new (...words: never[]) => Error

/** Exports of the built client. */
export type ClientModule = {
  readonly createClient: (options: object) => AnyClient
  readonly decimal: (value: string | number) => Decimal
  readonly toUnits: (value: Decimal, digits: number) => bigint
  readonly fromUnits: (units: bigint, digits: number) => Decimal
  readonly parseExact: (text: string, integers: ReadonlySet<string>) => unknown
  readonly writeExact: (value: unknown) => string
  readonly verifyWebhook: (delivery: object) => unknown
  readonly ApiError: ErrorClass
  readonly ConnectionError: ErrorClass
  readonly WattledgerError: ErrorClass
  readonly WebhookVerificationError: ErrorClass
}
