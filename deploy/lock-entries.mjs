// Reads the registry packages of package-lock.json. Plain JavaScript without packages, because the installation imports it first.

/** Return the registry packages of a lock, by path in node_modules. */
export const registryEntries = lock =>
  Object.entries(lock.packages).filter(([path, entry]) => path !== '' && entry.link !== true)

/**
 * Packages that may lack a hash, each with its reason. On their platforms `install.mjs` installs nothing until the hashes exist.
 * If a registry offers them, run `node deploy/complete-lock.mjs` and remove the names here.
 */
export const withoutHash = {
  '@chdb/lib-darwin-arm64': 'the registry in use when the lock was written does not offer this package',
  '@chdb/lib-darwin-x64': 'the registry in use when the lock was written does not offer this package',
  '@chdb/lib-linux-arm64-gnu': 'the registry in use when the lock was written does not offer this package',
}

/** Return the name of a package from its path. */
export const nameOf = path => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

/** Return whether a list of a lock entry, such as `os`, allows a value. An entry without the list allows all. */
const allows = (list, value) => list === undefined || list.includes(value)

/**
 * Return the entries of the packages that npm installs on a platform, by path in node_modules.
 * `platform` has `os` and `cpu` of Node, and `libc`: glibc, musl or undefined.
 */
export const installedEntries = (lock, { os, cpu, libc }) =>
  registryEntries(lock).filter(
    ([, entry]) => allows(entry.os, os) && allows(entry.cpu, cpu) && (libc === undefined || allows(entry.libc, libc)),
  )

/** Return the packages that npm would install on a platform without a hash, as name@version. */
export const unverifiedOn = (lock, platform) =>
  installedEntries(lock, platform)
    .filter(([, entry]) => entry.integrity === undefined)
    .map(([path, { version }]) => `${nameOf(path)}@${version}`)

/** Return the platform of this process. */
export const thisPlatform = () => {
  const glibc = process.report?.getReport().header.glibcVersionRuntime
  const libc = process.platform === 'linux' ? (glibc === undefined ? 'musl' : 'glibc') : undefined
  return { os: process.platform, cpu: process.arch, libc }
}
