const { round } = require("./numbers");
const numbers = require("./numbers");

module.exports = function run(value) {
  return [value].map((v) => round(v)).concat(numbers.floor(value));
};
