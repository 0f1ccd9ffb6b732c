import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { it } from 'vitest'
import { openTestDatabase, runFolderVariable } from '../../postgres.ts'
import { dataFolder, startSystem } from '../../running-system.ts'

it('runs a service and a PostgreSQL until it is interrupted', async () => {
  await openTestDatabase()
  await startSystem(dataFolder())
  const note = process.env['INTERRUPTED_NOTE'] ?? ''
  writeFileSync(join(note), process.env[runFolderVariable] ?? '')
  await sleep(600_000)
})
