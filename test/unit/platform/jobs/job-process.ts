import { setTimeout as sleep } from 'node:timers/promises'
import { startJobs } from '../../../../services/platform/jobs/jobs.ts'
import { openDatabase } from '../../../../services/platform/postgres/database.ts'
import { claimExport, exportJobs, finishExport } from '../../../../services/platform/postgres/exports/exports.ts'

/** Process that ends exports after `workMs`. Its clock differs by `shiftMs`. It prints the start and end of each job. */
const [address = '{}', shiftMs = '0', workMs = '0'] = process.argv.slice(2)
const machineNow = Date.now
Date.now = () => machineNow() + Number(shiftMs)
const database = openDatabase({ address: JSON.parse(address) })
const { operator } = database
const refusal = { code: 'internal_error', message: 'The test ended it.' } as const

startJobs(
  { database, logger: { warn: () => process.stdout.write('warning\n') } },
  {
    name: 'exports',
    kind: exportJobs,
    claims: [durationMs => claimExport(operator, durationMs)],
    isOutage: () => false,
    run: async (job, signal) => {
      process.stdout.write(`start ${job.id}\n`)
      await sleep(Number(workMs), undefined, { signal })
      const isOurs = await finishExport(operator, job, { refusal }, Date.now())
      process.stdout.write(`${isOurs ? 'end' : 'lost'} ${job.id}\n`)
      return 'ENDED'
    },
  },
)
