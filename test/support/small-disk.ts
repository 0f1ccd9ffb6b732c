import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, statfsSync, writeSync } from 'node:fs'

const mebibyte = 1_048_576

/** Make a folder, new or empty, that is a disk of its own; false without the rights to mount. */
export const mountSmallDisk = (folder: string, mebibytes: number): boolean => {
  mkdirSync(folder, { recursive: true })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=755`, 'tmpfs', folder], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export const unmountDisk = (folder: string): void => {
  execFileSync('umount', ['-l', folder])
}

/** Bytes that a disk still takes. */
export const roomOf = (disk: string): number => {
  const { bavail, bsize } = statfsSync(disk)
  return bavail * bsize
}

/** Write into a file at once until the disk has no more than `leave` bytes left. */
export const fillDownTo = (disk: string, file: string, leave: number): void => {
  const descriptor = openSync(file, 'a')
  const block = Buffer.alloc(mebibyte, 1)
  try {
    for (let left = roomOf(disk) - leave; left > 0; left = roomOf(disk) - leave) writeSync(descriptor, block, 0, Math.min(left, mebibyte))
  } finally {
    closeSync(descriptor)
  }
}
