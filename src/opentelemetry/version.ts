/** The version of the package. A test compares it with package.json, which bundles of applications do not have. */
export const VERSION = '0.1.0';
