import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { it } from 'vitest'
import { openTestDatabase, runFolderVariable } from '../../stores/postgres.ts'
import { mountSmallDisk } from '../../stores/small-disk.ts'
import { dataFolder, startSystem } from '../../system/running-system.ts'

it('runs a service and a PostgreSQL with a small disk until it is interrupted', async () => {
  await openTestDatabase()
  await startSystem(dataFolder())
  const disk = mkdtempSync(join(tmpdir(), 'disk '))
  if (mountSmallDisk(disk, 1)) writeFileSync(join(disk, 'file'), 'text')
  const note = process.env['INTERRUPTED_NOTE'] ?? ''
  writeFileSync(join(note), process.env[runFolderVariable] ?? '')
  await sleep(600_000)
})
