import { inspect } from 'node:util'
import { print, whole } from '../demo/terminal.ts'
import { missingKafkaTool } from '../support/kafka/artefacts.ts'
import { missingClickHouse } from '../support/stores/clickhouse-server.ts'
import { closeOnSignals, closeWithRun } from '../support/system/close-with-run.ts'
import { type BulkAudit, openBulk } from './bulk/run-bulk.ts'
import { type AuditOptions, help, OptionError, parseOptions } from './options.ts'
import { isClean, observer, reportBulk, reportVerdict } from './report.ts'
import { type Audit, openAudit } from './run-audit.ts'

const printOptions = (options: AuditOptions): void => {
  const { records, kills, seed, connections, without, isDistributed } = options
  const profile = isDistributed ? 'distributed' : 'embedded'
  const missing = isDistributed ? (missingKafkaTool() ?? missingClickHouse()) : null
  if (missing !== null) throw new OptionError(`--distributed cannot start its stores: ${missing}`)
  const size = [`${whole(records)} records`, profile, `${kills} kills`, `${connections} connections`, `seed ${seed}`]
  const leftOut = without.size === 0 ? [] : [`without ${[...without].join(', ')}`]
  print(`\n  Audit of ${[...size, ...leftOut].join(', ')}\n`)
}

const runBulk = async (options: AuditOptions): Promise<boolean> => {
  let opened: BulkAudit | null = null
  await using audit = await openBulk(
    options,
    observer(() => opened?.progress.faults ?? []),
  )
  opened = closeWithRun(audit)
  await audit.load()
  const verdict = await audit.verify()
  reportBulk(verdict, audit.progress)
  if (!isClean(verdict)) audit.keepData()
  if (options.isDataRetained || !isClean(verdict)) print(`  data in ${audit.folder}`)
  return isClean(verdict)
}

const run = async (options: AuditOptions): Promise<boolean> => {
  let opened: Audit | null = null
  await using audit = await openAudit(
    options,
    observer(() => opened?.progress.faults ?? []),
  )
  opened = closeWithRun(audit)
  const logFolders = (): void => print(`  data in ${audit.folder}, journal in ${audit.journalFile}`)
  if (options.isDataRetained) logFolders()
  await audit.load()
  let verdict = await audit.verify()
  if (options.isAltered && isClean(verdict)) {
    print(`\n  ${await audit.alter()} was altered on purpose\n`)
    verdict = await audit.verify()
  }
  reportVerdict(verdict, audit.progress)
  if (!isClean(verdict) && !options.isAltered && !options.isDataRetained) {
    audit.keepData()
    logFolders()
  }
  return isClean(verdict)
}

closeOnSignals()
try {
  const options = parseOptions(process.argv.slice(2))
  if (options === null) print(help)
  else {
    printOptions(options)
    const startedAt = performance.now()
    if (!(await (options.isBulk ? runBulk : run)(options))) process.exitCode = 1
    print(`  Duration: ${whole((performance.now() - startedAt) / 1_000)} s`)
  }
} catch (error) {
  const isUsage = error instanceof OptionError
  process.stderr.write(`\naudit: ${isUsage ? error.message : inspect(error)}\n`)
  process.exitCode = isUsage ? 2 : 1
}
