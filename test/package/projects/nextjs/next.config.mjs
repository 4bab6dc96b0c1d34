/** Next.js would take the nearest folder above that has a lock file. */
export default { turbopack: { root: import.meta.dirname } };
