exports.round = function (x) {
  return x;
};
function floor(x) {
  return exports.round(x);
}
module.exports.floor = floor;
