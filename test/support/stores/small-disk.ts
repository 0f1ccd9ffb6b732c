import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, statfsSync, writeSync } from 'node:fs'

const mebibyte = 1_048_576

/** Mount a small disk on a new or empty folder. Returns false without the right to mount. */
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

/** List the mount points inside a folder, the innermost and newest first; empty if the system has no list of mounts. */
export const mountsWithin = (folder: string): readonly string[] => {
  try {
    const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n')
    // The kernel writes a space in a path as \040.
    const paths = mounts.map(line =>
      (line.split(' ')[1] ?? '').replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(parseInt(octal, 8))),
    )
    return paths.filter(path => path.startsWith(`${folder}/`)).toReversed()
  } catch {
    return []
  }
}

/** Unmount every disk inside a folder. */
export const unmountWithin = (folder: string): void => {
  for (const path of mountsWithin(folder)) {
    try {
      unmountDisk(path)
    } catch {
      // Another process has unmounted the disk.
    }
  }
}

/** Bytes that a disk still takes. */
export const freeBytesOf = (disk: string): number => {
  const { bavail, bsize } = statfsSync(disk)
  return bavail * bsize
}

/** Write into a file at once until the disk has no more than `leave` bytes left. */
export const fillDownTo = (disk: string, file: string, leaveBytes: number): void => {
  const descriptor = openSync(file, 'a')
  const block = Buffer.alloc(mebibyte, 1)
  try {
    for (let left = freeBytesOf(disk) - leaveBytes; left > 0; left = freeBytesOf(disk) - leaveBytes)
      writeSync(descriptor, block, 0, Math.min(left, mebibyte))
  } finally {
    closeSync(descriptor)
  }
}
