// Lets one process at a time install packages. Plain JavaScript for Node 20 or newer, because it runs before the installation.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const pollMs = 250
/** A new lock counts if it is still ours after this time: another process can have removed the lock of an ended one. */
const confirmMs = 50

/** Return the process of a lock; 0 if there is no lock, NaN if its file is empty. */
function ownerOf(file) {
  try {
    return Number.parseInt(readFileSync(file, 'utf8'), 10)
  } catch {
    return 0
  }
}

function isRunning(pid) {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** Create the lock. Returns false if it exists. */
async function tryLock(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    return false
  }
  await sleep(confirmMs)
  return ownerOf(file) === process.pid
}

/**
 * Wait until no other process has the lock, and take it until this process ends. A lock of an ended process is removed.
 * `onWait` is called with the process that has the lock.
 */
export async function lockUntilExit(file, onWait) {
  let hasWaited = false
  while (!(await tryLock(file))) {
    const owner = ownerOf(file)
    if (owner === 0) continue
    if (!isRunning(owner)) {
      // The owner of an empty file may be about to write it.
      if (Number.isNaN(owner)) await sleep(pollMs)
      if (ownerOf(file) === owner || Number.isNaN(ownerOf(file))) rmSync(file, { force: true })
      continue
    }
    if (!hasWaited) onWait(owner)
    hasWaited = true
    await sleep(pollMs)
  }
  process.once('exit', () => rmSync(file, { force: true }))
}
