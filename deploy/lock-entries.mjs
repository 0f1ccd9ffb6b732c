// What package-lock.json says of packages that come from a registry. Plain JavaScript without packages: setup.mjs reads it first.

/** The entries of a lock that come from a registry, by their path in node_modules. */
export const registryEntries = lock =>
  Object.entries(lock.packages).filter(([path, entry]) => path !== '' && entry.link !== true)

/**
 * The packages that may lack a hash, each with its reason. `setup.mjs` installs nothing on their platforms until the hashes are there.
 * A maintainer whose registry offers them runs `node deploy/complete-lock.mjs`, then removes the names here.
 */
export const withoutHash = {
  '@chdb/lib-darwin-arm64': 'the registry in use when the lock was written does not offer this package',
  '@chdb/lib-darwin-x64': 'the registry in use when the lock was written does not offer this package',
  '@chdb/lib-linux-arm64-gnu': 'the registry in use when the lock was written does not offer this package',
}

/** The name of a package by its path. */
export const nameOf = path => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

/** Tell whether a list of a lock entry, such as `os`, names a value; an entry without the list is for all. */
const allows = (list, value) => list === undefined || list.includes(value)

/**
 * List the packages that npm would install on a platform without a hash to compare them with, each as name@version.
 * `platform`: `os` and `cpu` as Node names them, `libc` glibc, musl, or undefined where there is none.
 */
export const unverifiedOn = (lock, { os, cpu, libc }) =>
  registryEntries(lock)
    .filter(([, entry]) => entry.integrity === undefined)
    .filter(
      ([, entry]) => allows(entry.os, os) && allows(entry.cpu, cpu) && (libc === undefined || allows(entry.libc, libc)),
    )
    .map(([path, { version }]) => `${nameOf(path)}@${version}`)

/** The platform that this process runs on. */
export const thisPlatform = () => {
  const glibc = process.report?.getReport().header.glibcVersionRuntime
  const libc = process.platform === 'linux' ? (glibc === undefined ? 'musl' : 'glibc') : undefined
  return { os: process.platform, cpu: process.arch, libc }
}
